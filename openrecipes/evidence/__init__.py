"""Everything behind a result in one file, and every figure derived from it again."""
