"""Which short names a wrong one is taken to mean."""

from pathlib import Path

import pytest

from openrecipes.problems import UsageError
from openrecipes.recipe.library import Library

NAMES = ("a-1b/h200/me-tp2", "a-1b/h200/me-tp4-pp2", "b-2b/h200/me-tp2", "b-2b/h100/you-dp8")


@pytest.mark.parametrize(
    ("name", "mend"),
    [
        ("me-tp4-pp2", "write a-1b/h200/me-tp4-pp2"),
        ("me-tp4-pp2.yaml", "write a-1b/h200/me-tp4-pp2"),
        ("h100/you-dp8", "write b-2b/h100/you-dp8"),
        ("me-tp2", "write a-1b/h200/me-tp2 or b-2b/h200/me-tp2"),
        ("me-tp4-pp3", "write a-1b/h200/me-tp4-pp2"),
        ("a-1b/h200/me-tp4-pp3", "write a-1b/h200/me-tp4-pp2"),
        ("tp2", "name a file, or one of: "),
        ("something-else", "name a file, or one of: "),
    ],
)
def test_a_wrong_name_is_told_the_recipes_that_end_so(tmp_path: Path, name: str, mend: str) -> None:
    for one in NAMES:
        file = tmp_path / f"{one}.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    with pytest.raises(UsageError) as refused:
        Library(root=tmp_path).find(name)
    assert refused.value.problems[0].mend.startswith(mend)
