from collections import Counter
from pathlib import Path

import pytest
from good_recipes import GOOD, ODD_MODEL
from mutation_changes import Mutation
from mutations import MUTATIONS

from openrecipes.check.all_rules import ALL_RULES
from openrecipes.check.report import check_file, check_text

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def _odd_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / "odd-heads.yaml").write_text(ODD_MODEL, encoding="utf-8")
    monkeypatch.setenv("OPENRECIPES_MODELS", str(folder))


@pytest.mark.parametrize("file", GOOD)
def test_a_good_recipe_trips_no_rule(file: str) -> None:
    assert [str(problem) for problem in check_text(GOOD[file](), file)] == []


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: f"{mutation.rule}: {mutation.name}")
def test_a_mutation_trips_its_rule_and_no_other(mutation: Mutation, tmp_path: Path) -> None:
    good = GOOD[mutation.base]()
    bad = mutation.change(good)
    assert bad != good, "this mutation changes nothing"
    path = tmp_path / (mutation.file or mutation.base)
    path.parent.mkdir(parents=True)
    if bad is not None:
        path.write_bytes(bad if isinstance(bad, bytes) else bad.encode())
    found = check_file(path)
    told = "\n".join(map(str, found))
    assert {problem.rule for problem in found} == {mutation.rule}, told
    assert mutation.key in {problem.place.key for problem in found}, told
    severity = next(rule.severity for rule in ALL_RULES if rule.id == mutation.rule)
    assert {problem.severity for problem in found} == {severity}
    for problem in found:
        assert problem.place.file == str(path)
        assert problem.what
        assert problem.mend


def test_every_rule_has_a_mutation() -> None:
    tripped = Counter(mutation.rule for mutation in MUTATIONS)
    assert tripped.keys() == {rule.id for rule in ALL_RULES}
    assert len(ALL_RULES) == len(tripped) == 144
    assert len(MUTATIONS) == 202


def test_mutations_have_names_of_their_own() -> None:
    names = Counter((mutation.rule, mutation.name) for mutation in MUTATIONS)
    assert [name for name, count in names.items() if count > 1] == []


def test_shipped_recipes_have_no_errors_and_the_published_findings() -> None:
    files = sorted((ROOT / "recipes").rglob("*.yaml"))
    assert len(files) >= 4
    found = [problem for path in files for problem in check_file(path)]
    assert [str(problem) for problem in found if problem.severity == "error"] == []
    published = Counter(problem.rule for problem in found if "attune-" in problem.place.file)
    assert published == {"words-patches": 3, "words-gpu-hours": 2, "words-permute-fusion": 1, "status-worth": 3}
    cut = [problem.what for problem in found if problem.rule == "words-gpu-hours"]
    assert all("the same run is the …" in what for what in cut)
