"""`python -m openrecipes VERB …`, the same as the console script."""

from openrecipes.cli.app import main

main()
