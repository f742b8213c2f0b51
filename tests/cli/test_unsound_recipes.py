"""A recipe that could not be read whole: every verb tells the rest of what keeps it from having a command too."""

import json
from pathlib import Path

import pytest
from called import ROOT, openrecipes

GOOD = ROOT / "recipes/qwen3.5-397b-a17b/h200/attune-tp2-pp4-ep32.yaml"


@pytest.mark.parametrize("verb", ["plan", "show", "render", "launch"])
def test_one_field_that_cannot_be_read_hides_no_other_fields_error(verb: str, tmp_path: Path) -> None:
    text = GOOD.read_text(encoding="utf-8")
    for old, new in (
        ("max_tokens_per_gpu: 8192", "max_tokens_per_gpu: lots"),
        ("  dp: 16", "  dp: 12"),
        ("dispatcher: alltoall", "dispatcher: allgather"),
        ("--lr 1e-5", "--lr 1e-4"),  # of the text of run, which no verb but check looks at
    ):
        assert old in text
        text = text.replace(old, new, 1)
    (tmp_path / "bad.yaml").write_text(text, encoding="utf-8")
    done = openrecipes(verb, tmp_path / "bad.yaml", "--json")
    problems = json.loads(done.stdout)["problems"]
    assert done.returncode == 1
    assert [problem["rule"] for problem in problems] == ["layout-dp", "schema-kind", "layout-allgather"]
    assert [problem["line"] for problem in problems] == sorted(problem["line"] for problem in problems)
