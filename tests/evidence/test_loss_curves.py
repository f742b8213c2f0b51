"""The convergence check of a recipe, computed again from the logs in its bundle."""

from pathlib import Path
from typing import Any

import pytest
from made_bundles import ROOT, made_run, members_of, tampered

from openrecipes.correctness.convergence import convergence
from openrecipes.evidence.bundle import Bundled, bundle
from openrecipes.evidence.loss_curves import curve_named
from openrecipes.evidence.verify import verify
from openrecipes.problems import ProblemsError, UsageError, errors_in
from openrecipes.recipe.read import LocatedRecipe, read_recipe
from openrecipes.recipe.write import plain
from openrecipes.write_back.write_result import write_block

CANDIDATE, REFERENCE = (str(ROOT / f"tests/data/runs/qwen3.5-moe-small-tp{tp}.log.gz") for tp in (2, 1))


@pytest.fixture(scope="module")
def claim(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, LocatedRecipe]:
    """A run, and its recipe with the convergence check between the two layouts' logs in it."""
    root = tmp_path_factory.mktemp("curves") / "run"
    run, located = made_run(root)
    block = convergence(curve_named(CANDIDATE), curve_named(REFERENCE)).block()
    correctness: dict[str, Any] = dict.fromkeys(("result", "summary", "reference", "configuration", "rules"))
    correctness |= {"component_tests": [], "convergence": plain(block.model_copy(update={"note": "two layouts"}))}
    write_block(located, "correctness", correctness)
    return run.root, read_recipe(run.recipe_with_result)


def _bundled(claim: tuple[Path, LocatedRecipe], file: Path, *curves: str) -> Bundled:
    return bundle(claim[1], [claim[0]], file, curves=curves)


def test_with_both_logs_each_figure_of_the_check_is_derived_again(claim: Any, tmp_path: Path) -> None:
    made = _bundled(claim, tmp_path / "b.tar.gz", REFERENCE)
    assert "correctness/reference.log" in members_of(made.file)
    assert "correctness/candidate.log" not in members_of(made.file), "the run's own log is the candidate's"
    found = verify(made.file)
    assert found.ok
    figures = {figure.name.rpartition(".")[2]: figure for figure in found.figures if "convergence" in figure.name}
    assert {"correlation", "final_loss_difference", "pointwise_failures", "steps", "result"} <= set(figures)
    assert all(figure.ok for figure in figures.values())


def test_without_the_reference_it_says_that_nothing_was_derived(claim: Any, tmp_path: Path) -> None:
    found = verify(_bundled(claim, tmp_path / "b.tar.gz").file)
    assert found.ok
    assert not [figure for figure in found.figures if "convergence" in figure.name]
    (problem,) = [one for one in found.problems if one.rule == "convergence-not-derived"]
    assert "the log of its reference" in problem.what


def test_who_claims_verified_must_bring_the_logs(claim: Any, tmp_path: Path) -> None:
    text = Path(claim[1].file).read_text(encoding="utf-8")
    path = tmp_path / "verified.yaml"
    path.write_text(text.replace("status: measured", "status: verified"), encoding="utf-8")
    verified = (claim[0], read_recipe(path))
    assert verify(_bundled(verified, tmp_path / "with.tar.gz", REFERENCE).file).ok
    with pytest.raises(ProblemsError) as refused:
        _bundled(verified, tmp_path / "without.tar.gz")
    assert [problem.rule for problem in errors_in(refused.value.problems)] == ["convergence-not-derived"]


def test_an_edited_correlation_is_refused(claim: Any, tmp_path: Path) -> None:
    made = _bundled(claim, tmp_path / "b.tar.gz", REFERENCE)
    recipe = members_of(made.file)["recipe.yaml"].decode()
    line = next(line for line in recipe.splitlines() if line.strip().startswith("correlation: "))
    edited = recipe.replace(line, "    correlation: 1.0")
    found = verify(tampered(made.file, {"recipe.yaml": edited.encode()}))
    assert [one.place.key for one in errors_in(found.problems)] == ["correctness.convergence.correlation"]


def test_another_log_in_the_references_place_is_refused(claim: Any, tmp_path: Path) -> None:
    made = _bundled(claim, tmp_path / "b.tar.gz", REFERENCE)
    log = members_of(made.file)["correctness/reference.log"] + b"\n"
    found = verify(tampered(made.file, {"correctness/reference.log": log}))
    assert "bundle-tie" in [one.rule for one in errors_in(found.problems)]


def test_a_log_that_the_check_does_not_name_is_not_packed(claim: Any, tmp_path: Path) -> None:
    other = tmp_path / "other.log"
    other.write_text("nothing")
    with pytest.raises(UsageError) as refused:
        _bundled(claim, tmp_path / "b.tar.gz", str(other))
    assert "hash" in str(refused.value)


def test_a_check_that_failed_again_cannot_claim_to_have_passed(tmp_path: Path) -> None:
    run, located = made_run(tmp_path / "run")
    block = convergence(curve_named(CANDIDATE), curve_named(REFERENCE)).block()
    block = block.model_copy(update={"note": "x", "pointwise_failures": 3})
    correctness: dict[str, Any] = dict.fromkeys(("result", "summary", "reference", "configuration", "rules"))
    write_block(located, "correctness", correctness | {"component_tests": [], "convergence": plain(block)})
    with pytest.raises(ProblemsError) as refused:
        bundle(read_recipe(run.recipe_with_result), [run.root], tmp_path / "b.tar.gz", curves=(REFERENCE,))
    assert "pointwise_failures" in str(refused.value)
