"""Times `openrecipes site build`: the shipped recipes, and 1,000 of one board, written to disk.

Each figure is wall time of one build after the imports; 1,000 recipes must stay under ten seconds.
"""

import gzip
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from made_library import FOLDER, made_library

from openrecipes.recipe.library import Library
from openrecipes.shipped import shipped
from openrecipes.site.build import build
from openrecipes.site.output_folder import write_folder

LIMIT_S = 10.0


def built(root: Path, folder: Path) -> float:
    """Seconds from the recipes to the site on disk; what it holds is printed."""
    start = time.perf_counter()
    site = build(Library(root=root))
    write_folder(folder, site.files)
    seconds = time.perf_counter() - start
    size = sum(map(len, site.files.values()))
    print(f"{len(site.shelf.entries):,} recipes: {len(site.files):,} files, {size / 2**20:.1f} MiB in {seconds:.2f} s")
    return seconds


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        built(shipped("recipes"), folder / "shipped")
        library = made_library(folder, 1000)
        seconds = built(library, folder / "thousand")
        page = (folder / "thousand" / "boards" / f"{FOLDER}.html").read_bytes()
        print(f"page of the board: {len(page) / 1024:,.0f} KiB, {len(gzip.compress(page)) / 1024:,.0f} KiB compressed")
    return int(seconds > LIMIT_S)


if __name__ == "__main__":
    sys.exit(main())
