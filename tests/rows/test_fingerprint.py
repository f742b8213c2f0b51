"""The hash of rows, in the form that data/README.md writes down."""

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from openrecipes.rows.fingerprint import FORM, RowsHash

README = Path(__file__).resolve().parents[2] / "data" / "README.md"


def hashed(rows: list[tuple[list[int], list[int]]]) -> str:
    made = RowsHash(len(rows[0][0]))
    for ids, mask in rows:
        made.add(np.array(ids, np.int32), np.array(mask, np.uint8))
    return made.sha256()


EXAMPLE = [([1, 300, 248046], [0, 1, 1]), ([7, 8, 9], [0, 0, 1])]


def test_the_example_of_the_readme_is_right() -> None:
    text = README.read_text(encoding="utf-8")
    assert FORM in text
    found = re.search(r"\$ (printf '.*' \| sha256sum)\n([0-9a-f]{64})  -", text)
    assert found is not None
    assert hashed(EXAMPLE) == found[2]
    if shutil.which("sha256sum"):
        out = subprocess.run(["bash", "-c", found[1]], capture_output=True, text=True, check=True).stdout
        assert out.split()[0] == found[2]


@pytest.mark.parametrize(
    "changed",
    [
        EXAMPLE[::-1],
        EXAMPLE[:1],
        [([1, 300, 248046], [1, 1, 1]), EXAMPLE[1]],
        [([2, 300, 248046], [0, 1, 1]), EXAMPLE[1]],
        [([1, 300], [0, 1]), ([248046, 7], [1, 0]), ([8, 9], [0, 1])],
    ],
)
def test_another_order_token_mask_or_cut_has_another_hash(changed: list[tuple[list[int], list[int]]]) -> None:
    assert hashed(changed) != hashed(EXAMPLE)


def test_the_first_position_is_hashed_as_cut() -> None:
    assert hashed([([1, 2], [1, 1])]) != hashed([([1, 2], [0, 1])])
