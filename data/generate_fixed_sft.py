"""Builds the fixed rows of a recipe; the program that recipes name as their builder.

    python data/generate_fixed_sft.py --recipe qwen3.5-397b-a17b/h200/attune-tp2-pp4-ep32 -o rows.parquet

It is `openrecipes data build`, with the same options. See data/README.md.
"""

import sys

from openrecipes.__main__ import main

if __name__ == "__main__":
    sys.argv[1:1] = ["data", "build"]
    main()
