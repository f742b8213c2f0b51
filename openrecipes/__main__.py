"""`python -m openrecipes VERB …`, the same as the console script."""

from openrecipes.cli.app import main

if __name__ == "__main__":  # worker processes import this file under another name
    main()
