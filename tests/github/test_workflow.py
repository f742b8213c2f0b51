"""The workflow that checks submissions: it runs on untrusted pull requests, so nothing of them may reach a shell."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
WORKFLOW = ROOT / ".github/workflows/recipes.yml"


@pytest.fixture(scope="module")
def workflow() -> dict[Any, Any]:
    return yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))


def _steps(workflow: dict[Any, Any]) -> list[dict[str, Any]]:
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    assert len(steps) >= 5
    return steps


def test_it_runs_on_pull_requests_with_a_token_that_can_only_read(workflow: dict[Any, Any]) -> None:
    assert set(workflow[True]) == {"pull_request"}, "YAML reads the key `on` as true"
    assert workflow["permissions"] == {"contents": "read"}
    assert all("permissions" not in job for job in workflow["jobs"].values())
    assert "secrets." not in WORKFLOW.read_text()


def test_no_expression_stands_in_a_command(workflow: dict[Any, Any]) -> None:
    commands = [step["run"] for step in _steps(workflow) if "run" in step]
    assert len(commands) == 2
    assert not any("${{" in command for command in commands)


def test_only_hashes_and_numbers_of_the_pull_request_are_used() -> None:
    used = set(re.findall(r"\$\{\{ *([^}]+?) *\}\}", WORKFLOW.read_text()))
    assert used == {
        "github.event.pull_request.number",
        "github.event.pull_request.base.sha",
        "github.event.pull_request.head.sha",
    }


def test_each_action_is_pinned_to_a_commit_and_no_checkout_keeps_its_token(workflow: dict[Any, Any]) -> None:
    uses = [step for step in _steps(workflow) if "uses" in step]
    assert len(uses) == 3
    for step in uses:
        assert re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40}", step["uses"])
        if "checkout" in step["uses"]:
            assert step["with"]["persist-credentials"] is False


def test_the_harness_is_the_bases_and_what_it_names_exists(workflow: dict[Any, Any]) -> None:
    install, check = (step["run"] for step in _steps(workflow) if "run" in step)
    assert install.split()[-1] == "./base"
    words = check.split()
    assert words[:2] == ["python", "-P"]
    for word in (word for word in (*words, *install.split()) if word.startswith("base/")):
        assert (ROOT / word.removeprefix("base/")).exists(), word


def test_the_template_names_each_step_and_only_verbs_that_there_are() -> None:
    from openrecipes.cli.app import VERBS

    text = (ROOT / ".github/pull_request_template.md").read_text(encoding="utf-8")
    verbs = set(re.findall(r"`openrecipes ([a-z]+)", text))
    assert {"check", "plan", "run", "score", "env", "verify", "correctness", "compare"} <= verbs <= set(VERBS)
