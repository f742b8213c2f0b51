"""`openrecipes correctness component` as a person calls it."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner
from unproved import unproved_copy

from openrecipes.cli import correctness_component
from openrecipes.cli.correctness import app
from openrecipes.correctness.component.frame import Tier
from openrecipes.problems import ProblemsError, UsageError
from openrecipes.recipe.correctness import ComponentTest
from openrecipes.recipe.read import read_recipe

PUBLISHED_KEYS = ["test", "shape", "gpu", "date", "result", "detail"]
ON_CPU = ("--device", "cpu")


def call(*arguments: str):
    # A Problem is raised up to app.py, which prints it.
    return CliRunner().invoke(app, ["component", *arguments])


def raised(*arguments: str) -> ProblemsError:
    error = call(*arguments).exception
    assert isinstance(error, ProblemsError)
    return error


def test_json_has_the_keys_of_an_entry_first_and_everything_behind_them():
    done = call("router", *ON_CPU, "--json")
    assert done.exit_code == 0
    document = json.loads(done.stdout)
    assert list(document)[:6] == PUBLISHED_KEYS
    assert (document["result"], document["tier"], document["evidence"]) == ("pass", "torch-cpu", False)
    assert all(control["caught"] for control in document["controls"])
    assert all(one["passed"] and one["elements"] for one in document["judged"])
    assert document["peak_memory_bytes"] is None
    assert "testing router" in done.stderr


def test_the_page_names_verdict_figures_controls_and_why_it_is_no_evidence():
    page = call("precision-aware-adam", *ON_CPU, "--ep", "8").stdout
    assert page.startswith("precision-aware-adam: pass\n")
    assert "evidence  no: " in page
    assert "masters bitwise" in page
    assert "BF16 weight truncated" in page
    assert "NOTHING" not in page


def test_a_yaml_file_holds_one_entry_in_the_published_form(tmp_path: Path):
    path = tmp_path / "entry.yaml"
    assert call("rms-norm", *ON_CPU, "-o", str(path)).exit_code == 0
    (entry,) = yaml.safe_load(path.read_text())["component_tests"]
    assert list(entry) == [*PUBLISHED_KEYS, "component", "tier"]
    assert (entry["component"], entry["tier"]) == ("rms-norm", "torch-cpu")
    assert ComponentTest(**entry).result == "pass"
    assert "no evidence for a recipe" in entry["detail"]
    assert "all 8 negative controls fail" in entry["detail"]


def test_a_json_file_holds_what_json_prints(tmp_path: Path):
    path = tmp_path / "report.json"
    printed = json.loads(call("cross-entropy", *ON_CPU, "--tp", "4", "-o", str(path), "--json").stdout)
    assert json.loads(path.read_text()) == printed
    assert "TP 4" in printed["shape"]


def test_a_recipe_gives_model_and_degrees():
    done = call("cross-entropy", *ON_CPU, "--recipe", "qwen3.5-397b-a17b/h200/attune-tp1-pp4-ep32", "--json")
    document = json.loads(done.stdout)
    assert "Qwen3.5-397B-A17B" in document["shape"]
    assert "TP 1" in document["shape"]


def test_a_failure_is_said_and_answered_with_1(monkeypatch, tmp_path: Path):
    examined = correctness_component.examined

    def spoilt(*arguments):
        report = examined(*arguments)
        judged = (replace(report.findings.judged[0], error=float("nan")), *report.findings.judged[1:])
        controls = (replace(report.findings.controls[0], caught_by=()), *report.findings.controls[1:])
        return replace(report, findings=replace(report.findings, judged=judged, controls=controls))

    monkeypatch.setattr(correctness_component, "examined", spoilt)
    done = call("router", *ON_CPU, "-o", str(tmp_path / "x.json"))
    assert done.exit_code == 1
    assert done.stdout.startswith("router: fail\n")
    assert "BEYOND" in done.stdout
    assert "NOTHING" in done.stdout
    document = json.loads((tmp_path / "x.json").read_text())
    assert document["result"] == "fail"
    assert document["judged"][0]["error"] == "nan"
    assert "beyond it" in document["detail"]
    assert "negative controls that nothing caught: logits in BF16" in document["detail"]


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        (("routers",), "component-known"),
        (("router", "--model", "Qwen3.5-397B"), "model-known"),
        (("router", "--model", "Qwen3-30B-A3B", "--recipe", "x"), "component-subject"),
        (("router", "--ep", "7"), "component-ep"),
        (("router", "--tier", "torch-cpu", "--device", "cuda"), "component-device"),
        (("gated-delta-net", "--tier", "transformer-engine"), "component-tier"),
        (("gated-delta-net", "--model", "Qwen3-32B", "--device", "cpu"), "component-model"),
        (("router", "-o", "report.txt"), "component-file"),
        (("router", "-o", "no/such/folder/report.json"), "file-writable"),
    ],
)
def test_a_wrong_call_is_a_problem_with_a_mend(arguments, rule):
    problems = raised(*arguments).problems
    assert [problem.rule for problem in problems] == [rule]
    assert problems[0].mend


def test_a_file_that_cannot_be_written_is_refused_before_the_test_runs(monkeypatch):
    monkeypatch.setattr(correctness_component, "examined", lambda *_: pytest.fail("it ran"))
    assert isinstance(raised("router", "-o", "report"), UsageError)


def test_a_stand_in_is_no_evidence_and_is_refused_before_it_runs(monkeypatch):
    monkeypatch.setattr(correctness_component, "examined", lambda *_: pytest.fail("it ran"))
    (problem,) = raised("router", *ON_CPU, "--write", "qwen3.5-moe-small/h200/openrecipes-tp2-ep2").problems
    assert problem.rule == "component-evidence"
    assert "torch-cpu is a stand-in" in problem.what


def test_the_training_stacks_own_code_is_written_into_the_recipe_in_the_place_of_an_older_test(monkeypatch, tmp_path):
    examined, bench_for = correctness_component.examined, correctness_component.bench_for

    def bench(*arguments, **options):
        found, passed_over = bench_for(*arguments, **options)
        return replace(found, tier=Tier.MEGATRON_CORE), passed_over

    def as_the_stack(tested, subject, bench):
        report = examined(tested, subject, replace(bench, tier=Tier.TORCH_CPU))
        return replace(report, tier=Tier.MEGATRON_CORE)

    monkeypatch.setattr(correctness_component, "bench_for", bench)
    monkeypatch.setattr(correctness_component, "examined", as_the_stack)
    recipe = unproved_copy(Path("recipes/qwen3.5-moe-small/h200/openrecipes-tp2-ep2.yaml"), tmp_path / "recipe.yaml")
    for _ in range(2):
        done = call("router", *ON_CPU, "--write", str(recipe), "--json")
        assert done.exit_code == 0
    block = read_recipe(recipe).recipe.correctness
    assert [(test.component, test.tier) for test in block.component_tests] == [("router", "megatron-core")]
    assert block.summary == "passed: component test router"
