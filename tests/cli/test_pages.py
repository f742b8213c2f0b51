"""What every page and every wrong call has in common: 80 columns, no blanks at the ends, usage errors as JSON too."""

import json

import pytest
from called import openrecipes

from openrecipes.catalog.models import all_models

RECIPE = "qwen3.5-397b-a17b/h200/attune-tp2-pp4-ep32"


@pytest.mark.parametrize(
    "words",
    [
        ("show", RECIPE),
        ("plan", RECIPE),
        ("plan", "--model", "Qwen3.5-397B-A17B", "--gpu", "H200", "--gpus", "64"),
        ("arguments", "explain", "lr"),
        *(("model", "show", model.name) for model in all_models()),
    ],
    ids=" ".join,
)
def test_a_page_has_80_columns_and_no_blanks_at_the_ends_of_lines(words: tuple[str, ...]) -> None:
    done = openrecipes(*words)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) > 5
    assert [line for line in lines if len(line) > 80 or line != line.rstrip()] == []


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("check", "--nope"), "No such option: --nope"),
        (("nosuch",), "No such command 'nosuch'."),
        (("render",), "Missing argument"),
        (("plan", "--gpus", "many"), "--gpus"),
    ],
)
def test_a_wrong_call_is_json_where_json_is_asked_for(words: tuple[str, ...], says: str) -> None:
    done = openrecipes(*words, "--json")
    (problem,) = json.loads(done.stdout)["problems"]
    assert (done.returncode, problem["rule"]) == (2, "usage")
    assert says in problem["what"]
    assert done.stderr
    assert openrecipes(*words).stdout == ""
