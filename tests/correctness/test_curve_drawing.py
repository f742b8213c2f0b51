"""Pictures of two curves: sound SVG for any numbers, PNG with matplotlib, files written whole or refused."""

import sys
from math import inf, nan
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from loss_curves import CANDIDATE, NEGATIVE, REFERENCE, curve, reference

from openrecipes.cli.curve_picture import curve_picture
from openrecipes.correctness.convergence import convergence
from openrecipes.correctness.curve_drawing import series, svg, ticks
from openrecipes.correctness.curve_image import check_image_file, write_image
from openrecipes.problems import OutsideError, UsageError

SVG = "{http://www.w3.org/2000/svg}"
ANY = st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=1, max_size=30)


def test_the_svg_holds_three_lines_the_legend_and_the_verdict() -> None:
    root = ElementTree.fromstring(svg(convergence(curve(CANDIDATE), reference())))
    assert len(root.findall(f"{SVG}polyline")) == 3
    words = [text.text for text in root.findall(f"{SVG}text")]
    assert "Convergence over 20 steps: pass" in words
    assert {"candidate: candidate.log", "reference: reference.log", "not scored by the rule"} <= set(words)
    assert any("correlation 0.99999, final loss difference 8.4e-05, 0 of 16" in str(word) for word in words)


def test_a_nan_breaks_the_line_and_is_not_drawn() -> None:
    root = ElementTree.fromstring(svg(convergence(curve(NEGATIVE["one NaN in the middle"]), reference())))
    assert len(root.findall(f"{SVG}polyline")) == 5  # candidate and difference in two parts each


def test_names_are_escaped() -> None:
    found = convergence(curve(CANDIDATE, name="<script>&.log"), reference())
    assert "candidate: <script>&.log" in [text.text for text in ElementTree.fromstring(svg(found)).iter(f"{SVG}text")]


@given(candidate=ANY, other=ANY)
def test_any_numbers_make_a_sound_picture(candidate: list[float], other: list[float]) -> None:
    found = convergence(curve(candidate, lr=None), curve(other, name="reference.log", lr=None))
    text = svg(found)
    root = ElementTree.fromstring(text)
    assert "nan" not in text
    assert "inf" not in text
    assert len(root.findall(f"{SVG}polyline")) <= 3 * len(other)
    picture = curve_picture(found)
    assert max(map(len, picture.splitlines())) <= 80


@given(low=st.floats(-1e6, 1e6), spread=st.floats(1e-3, 1e6))
def test_ticks_lie_in_the_range_and_are_few(low: float, spread: float) -> None:
    found = ticks(low, low + spread)
    assert 1 <= len(found) <= 6
    assert all(low - 1e-9 * abs(low) <= value <= low + spread + 1e-9 * abs(low) for value in found)
    assert list(found) == sorted(set(found))


def test_differences_are_in_percent_of_the_reference() -> None:
    found = convergence(curve([1.1, 2.0, nan, inf]), reference([1.0, 2.0, 1.0, 1.0]))
    assert series(found)[2] == [pytest.approx(10), 0, None, None]


def test_many_steps_make_a_picture_of_bounded_size() -> None:
    losses = [2 + 0.001 * step for step in range(20_000)]
    found = convergence(curve(losses), reference(losses))
    assert len(svg(found)) < 300_000
    assert len(curve_picture(found)) < 4000


def test_the_characters_tell_the_curves_apart() -> None:
    lines = curve_picture(convergence(curve([2.0, 1.0]), reference([2.0, 2.0]))).splitlines()
    assert lines[0] == "loss   o candidate   x reference   * both"
    assert lines[1].split("|")[1].rstrip() == "*  x"
    assert lines[11].split("|")[1].rstrip() == "   o"


@pytest.mark.tool("module:matplotlib")
def test_a_png_is_a_png(tmp_path: Path) -> None:
    path = tmp_path / "curves.png"
    write_image(convergence(curve(CANDIDATE), reference(REFERENCE)), path)
    assert path.read_bytes().startswith(b"\x89PNG\r\n")
    assert [file.name for file in tmp_path.iterdir()] == ["curves.png"]


def test_an_svg_needs_no_matplotlib_and_a_png_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    found = convergence(curve(CANDIDATE), reference())
    write_image(found, tmp_path / "curves.svg")
    assert (tmp_path / "curves.svg").read_text(encoding="utf-8") == svg(found)
    with pytest.raises(OutsideError, match=r"openrecipes\[plot\]"):
        check_image_file(tmp_path / "curves.png")


@pytest.mark.parametrize("name", ["curves.gif", "curves", "no/such/folder.svg"])
def test_other_files_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        check_image_file(tmp_path / name)
