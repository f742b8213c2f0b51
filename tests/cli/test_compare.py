import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from called import Called, openrecipes
from made_run_directories import job, made
from rich.console import Console
from varied_recipes import published

from openrecipes.cli.compare_page import compare_page
from openrecipes.compare.comparison import compare
from openrecipes.compare.side import published_side

H200 = "qwen3.5-397b-a17b/h200"
ROOT = Path(__file__).parents[2]
LOG = ROOT / "tests/data/runs/qwen3.5-moe-small-tp2.log.gz"
KEYS = {"comparable", "why_not", "ratio", "interval", "verdict", "differences", "base", "candidate"}


def _compare(*words: str | Path) -> Called:
    return openrecipes("compare", *map(str, words))


def test_two_published_recipes_compare_with_interval_and_differences() -> None:
    ran = _compare(f"{H200}/attune-tp1-pp4-ep32", f"{H200}/attune-tp2-pp4-ep32", "--json")
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert set(found) >= KEYS
    assert found["comparable"] is True
    assert found["verdict"] == "faster"
    assert found["ratio"] == pytest.approx(545.32 / 506.73)
    assert found["interval"][0] < found["ratio"] < found["interval"][1]
    assert "--tensor-model-parallel-size" in [one["name"] for one in found["differences"]]


def test_the_text_names_the_base() -> None:
    ran = _compare(f"{H200}/attune-tp1-pp4-ep32", f"{H200}/attune-tp2-pp4-ep32")
    assert ran.stdout.startswith("verdict")
    assert "attune-tp1-pp4-ep32's" in " ".join(ran.stdout.split())


def test_a_log_is_taken_for_a_run_of_the_recipe_beside_it() -> None:
    ran = _compare("qwen3.5-moe-small/h200/openrecipes-tp2-ep2", LOG, "--json")
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["verdict"] == "reproduced"


def test_each_of_two_logs_may_have_its_own_recipe() -> None:
    other = LOG.with_name("qwen3.5-moe-small-tp1.log.gz")
    names = ("openrecipes-tp2-ep2", "openrecipes-tp1-ep2-dp2")
    of = [word for name in names for word in ("--recipe", f"qwen3.5-moe-small/h200/{name}")]
    ran = _compare(LOG, other, *of, "--json")
    found = json.loads(ran.stdout)
    assert found["comparable"] is True, found["why_not"]
    assert {"--tensor-model-parallel-size"} <= {one["name"] for one in found["differences"]}


def test_what_is_not_comparable_says_why_and_exits_with_1() -> None:
    ran = _compare(f"{H200}/attune-tp2-pp4-ep32", "qwen3.5-moe-small/h200/openrecipes-tp2-ep2", "--json")
    assert ran.returncode == 1
    found = json.loads(ran.stdout)
    assert found["comparable"] is False
    assert "model: Qwen3.5-397B-A17B and Qwen3.5-MoE-small" in found["why_not"]
    assert found["verdict"] == "not comparable"


@pytest.mark.parametrize(
    "words",
    [("nosuch", f"{H200}/attune-tp2-pp4-ep32"), (f"{H200}/attune-tp2-pp4-ep32", "no/such/run"), ("-", "-")],
)
def test_a_name_that_means_nothing_is_wrong_usage(words: tuple[str, ...]) -> None:
    ran = _compare(*words)
    assert ran.returncode == 2
    assert "mend:" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_two_bare_logs_without_a_recipe_are_not_comparable() -> None:
    ran = _compare(LOG, LOG)
    assert ran.returncode == 1
    assert "--recipe" in ran.stdout


def test_a_run_directory_without_its_recipe_still_answers(tmp_path: Path) -> None:
    run = made(tmp_path / "run", of_job=job())
    ran = _compare(f"{H200}/attune-tp2-pp4-ep32", run.root, "--json")
    found = json.loads(ran.stdout)
    assert found["comparable"] is False
    assert "rows" in found["why_not"]


def test_text_of_files_steers_no_terminal() -> None:
    odd = "<script>\x1b[31m\u202eevil" + "x" * 500 + "😀"
    recipe = published().model_copy(update={"model": odd, "env": {"A": odd}, "patches": (odd,)})
    side = replace(published_side(recipe, odd), notes=(odd,), slowest=(odd, 1.0, 0.1))
    found = compare(published_side(published(), "base"), side)
    console = Console(file=io.StringIO(), width=80, markup=False, emoji=False)
    console.print(compare_page(found))
    console.print(compare_page(found, verdict_last=True))
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "<script>" in shown
