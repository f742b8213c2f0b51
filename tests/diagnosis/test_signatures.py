from pathlib import Path

import pytest
import yaml
from pydantic import ValidationError

from openrecipes.diagnosis.signatures import Kind, Recogniser, Sign, Table, recogniser, table

DATA = Path(__file__).parents[1] / "data" / "diagnosis" / "lines.yaml"
LINES: dict[str, list[str]] = yaml.safe_load(DATA.read_text(encoding="utf-8"))
PAIRS = [(name, line) for name, lines in LINES.items() if name != "not_trouble" for line in lines]


@pytest.mark.parametrize(("name", "line"), PAIRS)
def test_a_line_of_a_class_is_recognised_as_that_class(name: str, line: str) -> None:
    seen = recogniser()(line)
    assert seen is not None
    assert seen.signature is not None
    assert seen.signature.name == name


@pytest.mark.parametrize("line", LINES["not_trouble"])
def test_a_frightening_line_that_means_nothing_is_not_recognised(line: str) -> None:
    seen = recogniser()(line)
    assert seen is None or seen.signature is None


def test_every_wording_of_the_table_has_a_line_of_its_own() -> None:
    found = {
        (seen.signature.name, seen.sign.text, seen.sign.pattern)
        for _, line in PAIRS
        if (seen := recogniser()(line)) and seen.signature and seen.sign
    }
    wanted = {(signature.name, sign.text, sign.pattern) for signature in table().classes for sign in signature.signs}
    assert len(wanted) > 180
    assert wanted - found == set()


def test_every_class_has_lines_and_no_line_has_another_class() -> None:
    assert set(LINES) - {"not_trouble"} == {signature.name for signature in table().classes}


@pytest.mark.parametrize(
    "pattern",
    ["a*", "a+b", "a{2,}", "(?:ab){1,9}", "(a|b)+", "x.{0,300}y.{0,300}z", "[ab", "a**"],
)
def test_a_pattern_that_some_text_could_make_slow_is_refused(pattern: str) -> None:
    with pytest.raises((ValidationError, ValueError)):
        Sign(text="Error", pattern=pattern)


@pytest.mark.parametrize("pattern", [r"a\+b", r"a\*", "[*+]x", r"\*\*\* SIGSEGV", "a{1,500}"])
def test_a_pattern_may_hold_signs_of_repetition_as_letters(pattern: str) -> None:
    assert Sign(text="Error", pattern=pattern).pattern == pattern


def test_a_sign_that_no_stem_finds_is_refused() -> None:
    document = yaml.safe_load((Path(__file__).parents[2] / "openrecipes/diagnosis/signatures.yaml").read_text())
    document["stems"] = ["rror"]
    with pytest.raises(ValidationError, match="no stem finds"):
        Table.model_validate(document)


def test_the_first_signature_that_fits_names_the_line() -> None:
    both = "RuntimeError: CUDA error: an illegal memory access was encountered"
    seen = recogniser()(both)
    assert seen is not None
    assert seen.signature is not None
    assert seen.signature.name == "cuda_illegal_access"
    reversed_table = table().model_copy(update={"classes": tuple(reversed(table().classes))})
    other = Recogniser(reversed_table)(both)
    assert other is not None
    assert other.signature is not None
    assert other.signature.name != "cuda_illegal_access"


def test_every_kind_is_in_the_table() -> None:
    assert {trouble.kind for trouble in (*table().classes, *table().computed)} == set(Kind)
