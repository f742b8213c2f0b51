"""Recipes with lines lost, doubled, swapped and indented, and values of every kind: problems, never an exception."""

import re
from pathlib import Path
from typing import Final

from hypothesis import given, settings
from hypothesis import strategies as st

from openrecipes.check.report import check_text

RECIPES: Final = tuple(sorted((Path(__file__).resolve().parents[2] / "recipes").rglob("*.yaml")))
VALUES: Final = (
    *("", "null", "0", "-1", "1.5", "1e-5", "1e400", ".nan", ".inf", "true", "no", "010", "1_4", "0x1F", "1:30"),
    *("[]", "{}", "[1, 2]", "[[1], {a: b}]", "{a: {b: c}}", "- a", "x: y", "'", '"', "|", ">", "---", "...", "%YAML 9"),
    *("&a b", "*a", "!!python/object:os.system x", "@x", "`id`", "$(id)", '$([ "$A" ] || `id)', "--lr", "2026-13-45"),
    *(
        "9" * 30,
        "9" * 2000,
        "a" * 30_000,
        "18446744073709551616",
        "[" * 60,
        "\u2028",
        "\x0c",
        "a\xa0b",
        "\t",
        "\0",
        "é",
    ),
)


@st.composite
def spoilt(draw: st.DrawFn) -> str:
    """A recipe's text after one to four changes of its lines."""
    lines = draw(st.sampled_from(RECIPES)).read_text(encoding="utf-8").split("\n")
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(lines) - 1))
        change = draw(st.sampled_from(["out", "double", "value", "value", "number", "indent", "swap", "letter", "cut"]))
        value, other = draw(st.sampled_from(VALUES)), draw(st.integers(0, len(lines) - 1))
        if change == "out" and len(lines) > 1:
            del lines[at]
        elif change == "double":
            lines.insert(at, lines[at])
        elif change == "value":
            lines[at] = f"{lines[at].partition(':')[0]}: {value}"
        elif change == "number":
            lines[at] = re.sub(r"[0-9]+", draw(st.sampled_from(["0", "7", "9007199254740992"])), lines[at], count=1)
        elif change == "indent":
            lines[at] = " " * draw(st.integers(0, 9)) + lines[at].lstrip()
        elif change == "swap":
            lines[at], lines[other] = lines[other], lines[at]
        elif change == "letter":
            place = draw(st.integers(0, len(lines[at])))
            lines[at] = lines[at][:place] + draw(st.sampled_from("\"'`$\\;&|<>(){}#:\f")) + lines[at][place:]
        else:
            lines = lines[: max(at, 1)]
    return "\n".join(lines)


@given(spoilt())
@settings(max_examples=150)
def test_a_spoilt_recipe_is_told_in_two_lines_a_problem(text: str) -> None:
    for problem in check_text(text, "recipes/a/b/c.yaml"):
        assert str(problem).count("\n") == 1
        assert problem.what
        assert problem.mend
