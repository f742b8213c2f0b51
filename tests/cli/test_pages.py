"""What every page and every wrong call has in common: 80 columns, no blanks at the ends, usage errors as JSON too."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from called import ROOT, openrecipes

from openrecipes.catalog.models import all_models
from openrecipes.cli.app import VERBS, verb

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


LOGS = ROOT / "tests/data/logs"


@pytest.mark.parametrize(
    "words",
    [
        ("correctness", "configuration", RECIPE, "qwen3.5-397b-a17b/h200/attune-tp1-pp4-ep32"),
        ("correctness", "configuration", RECIPE, RECIPE, "--all"),
        ("correctness", "convergence", LOGS / "h200/ok-dense-tp2sp.log.gz", LOGS / "h200/ok-moe-ep2.log.gz"),
        ("correctness", "component", "router", "--device", "cpu"),
        *(("diagnose", log) for log in sorted((LOGS / "h200").glob("fail-*"))[:4]),
        ("steps", *sorted((LOGS / "h200").glob("ok-*"))),
    ],
    ids=lambda words: " ".join(str(word).rpartition("/")[2] for word in words[:3]),
)
def test_a_page_of_what_differs_or_failed_has_80_columns_too(words: tuple[object, ...]) -> None:
    if "component" in words:
        pytest.importorskip("torch", reason="component tests need torch")
    lines = openrecipes(*words).stdout.splitlines()
    assert len(lines) > 3
    assert [line for line in lines if len(line) > 80 or line != line.rstrip()] == []


WRONG_CALLS = [
    (("check", "--nope"), "--nope", "there is no such option", "`openrecipes check --help` lists what it takes"),
    (("check", "--strit"), "--strit", "there is no such option", "did you mean --strict?"),
    (("chekc",), "", "there is no verb chekc", "did you mean check?"),
    (("correctness", "nosuch"), "", "there is no verb nosuch", "`openrecipes correctness --help` lists what it takes"),
    (("render",), "recipe", "is missing", "`openrecipes render --help` lists what it takes"),
    (("render", "--set"), "--set", "a value must follow it", "`--help` after the verb lists what it takes"),
    (("plan", "--gpus", "many"), "--gpus", "many is no whole number", "`openrecipes plan --help` lists what it takes"),
    (("plan", "--gpus", "0"), "--gpus", "0 is below 1", "`openrecipes plan --help` lists what it takes"),
    (("plan", "a", "b", "c"), "", "b c: one too many", "`openrecipes plan --help` lists what it takes"),
    (("check", "--strict=yes"), "--strict", "takes no value", "write --strict alone"),
]


@pytest.mark.parametrize(("words", "key", "what", "mend"), WRONG_CALLS, ids=" ".join)
def test_a_wrong_call_is_a_problem_of_our_form_and_json_where_asked(
    words: tuple[str, ...], key: str, what: str, mend: str
) -> None:
    told = openrecipes(*words)
    place = f"{key}: " if key else ""
    assert (told.returncode, told.stdout, told.stderr) == (2, "", f"{place}{what}\n  mend: {mend}   [usage]\n")
    if words[-1] == "--set":
        return  # it takes what follows it as its value
    done = openrecipes(*words, "--json")
    (problem,) = json.loads(done.stdout)["problems"]
    assert (done.returncode, problem["rule"], problem["key"], problem["what"]) == (2, "usage", key, what)


def _commands(command: Any, words: str) -> Iterator[tuple[str, Any]]:
    yield words, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from _commands(inner, f"{words} {name}")


COMMANDS = dict(found for name in VERBS for found in _commands(verb(name), name))


def test_there_are_as_many_verbs_as_the_tests_below_ask() -> None:
    assert len(COMMANDS) >= len(VERBS) + 10


@pytest.mark.parametrize("words", COMMANDS)
def test_every_help_has_an_example_of_its_verb(words: str) -> None:
    shown = openrecipes(*words.split(), "--help").stdout
    assert f"Example: openrecipes {words} " in " ".join(shown.replace("│", " ").split()) + " "
    assert "--help" in shown
    assert "bool" not in shown  # a flag takes no value


@pytest.mark.parametrize("words", [words for words, command in COMMANDS.items() if not hasattr(command, "commands")])
def test_every_verb_prints_json_where_asked(words: str) -> None:
    assert "--json" in [option for parameter in COMMANDS[words].params for option in parameter.opts]


def test_a_call_without_a_verb_shows_the_help() -> None:
    done = openrecipes()
    assert done.returncode == 2
    assert "Start with: openrecipes rank" in done.stdout + done.stderr
    assert "bool" not in done.stdout + done.stderr
