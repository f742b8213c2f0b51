import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from openrecipes.catalog.arguments import argument_catalogue, stack_ids
from openrecipes.cli.app import VERBS
from openrecipes.cli.arguments import app
from openrecipes.cli.arguments_page import explained, page
from openrecipes.problems import UsageError


def test_the_verb_is_listed() -> None:
    assert VERBS["arguments"][0] == "arguments"


@pytest.mark.parametrize("flag", ["--max-tokens-per-gpu", "max-tokens-per-gpu", "max_tokens_per_gpu"])
def test_explain_takes_a_flag_with_or_without_dashes(flag: str) -> None:
    found = CliRunner().invoke(app, ["explain", flag])
    assert found.exit_code == 0, found.output
    lines = dict(line.split("  ", 1) for line in found.stdout.splitlines() if "  " in line)
    assert found.stdout.startswith("--max-tokens-per-gpu\n")
    assert lines["takes"].strip() == "a whole number"
    assert lines["decided by"].strip() == "layout.max_tokens_per_gpu"
    assert lines["numerics"].strip().startswith(("neutral: ", "tolerated: ", "workload: ", "forbidden: "))
    assert lines["defined by"].strip() == f"slime ({stack_ids()[-1]})"


def test_explain_json_has_the_parsers_facts() -> None:
    document = json.loads(CliRunner().invoke(app, ["explain", "--attention-backend", "--json"]).stdout)
    assert document["choices"] == ["flash", "fused", "unfused", "local", "auto"]
    assert (document["default"], document["required"], document["value"]) == ("auto", False, "enum")
    assert (document["defined_by"], document["decided_by"]) == ("megatron", "arguments.attention_backend")
    assert document["numerics"] in ("neutral", "tolerated", "workload", "forbidden")
    assert document["numerics_why"]


def test_an_unknown_flag_is_a_usage_error_that_names_the_nearest() -> None:
    found = CliRunner().invoke(app, ["explain", "--max-tokens-per-gpuu"])
    assert isinstance(found.exception, UsageError)
    assert found.exception.exit_status == 2
    assert found.exception.problems[0].mend == "write --max-tokens-per-gpu"


def test_an_unknown_stack_is_a_usage_error_that_names_those_known() -> None:
    found = CliRunner().invoke(app, ["explain", "--lr", "--stack", "slime-0"])
    assert isinstance(found.exception, UsageError)
    assert stack_ids()[0] in found.exception.problems[0].mend


def test_every_flag_of_every_stack_can_be_explained() -> None:
    for stack_id in stack_ids():
        catalogue = argument_catalogue(stack_id)
        for flag in catalogue.parser.by_flag:
            document = explained(flag, catalogue)
            assert flag in document["flags"]
            assert page(document).startswith(document["flags"][0])


def test_snapshot_refuses_a_short_commit_and_a_folder_that_is_no_checkout(tmp_path: Path) -> None:
    call = ["snapshot", "--slime", str(tmp_path), "--megatron", str(tmp_path), "-o", str(tmp_path / "a.json")]
    for extra, what in (["--slime-commit", "a897e1f4"], "no whole commit"), ([], "has no slime"):
        found = CliRunner().invoke(app, [*call, *extra])
        assert isinstance(found.exception, UsageError)
        assert any(what in problem.what for problem in found.exception.problems)
    assert not (tmp_path / "a.json").exists()


def test_a_snapshot_says_as_json_where_it_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = argument_catalogue(stack_ids()[-1])
    taken = SimpleNamespace(arguments=found.parser.by_flag, stack_id=stack_ids()[-1])
    monkeypatch.setattr("openrecipes.cli.arguments.parser_snapshot", lambda *_, **__: taken)
    monkeypatch.setattr("openrecipes.cli.arguments.snapshot_text", lambda _: "{}\n")
    words = ["snapshot", "--slime", "slime", "--megatron", "m", "-o", str(tmp_path / "a.json"), "--json"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout) == {
        "file": str(tmp_path / "a.json"),
        "stack_id": stack_ids()[-1],
        "arguments": len(found.parser.by_flag),
    }
    assert (tmp_path / "a.json").read_text(encoding="utf-8") == "{}\n"
