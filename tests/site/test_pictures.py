"""Pictures carry their data as a table, take their colours from the style sheet, and hold nothing foreign."""

import importlib
import sys
from xml.etree import ElementTree

import pytest
from varied_recipes import changed, published, smoke

from openrecipes.recipe.library import Library
from openrecipes.shipped import shipped
from openrecipes.site import chart
from openrecipes.site.pictures import MOST_BARS, board_pictures, memory_picture
from openrecipes.site.ranking import Entry, ranking, read_entries

SVG = "{http://www.w3.org/2000/svg}"


def entries(count: int) -> list[Entry]:
    found = []
    for number in range(count):
        figures = {"result.tokens_per_s_per_gpu": 500.5 - number, "result.usd_per_million_tokens": 4.25 + number}
        found.append(Entry(name=f"m/g/r{number}", file=f"r{number}.yaml", recipe=changed(published(), figures)))
    return found


def test_a_charts_svg_has_no_script_style_or_foreign_word() -> None:
    [throughput, _] = board_pictures(ranking(entries(3)).boards[0])
    root = ElementTree.fromstring(str(throughput.svg))
    names = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert names <= {"svg", "g", "rect", "text", "path", "circle"}
    assert not any(key.startswith("on") or key == "style" for element in root.iter() for key in element.attrib)
    assert "pygal" not in str(throughput.svg).lower()
    assert (root.attrib["role"], root.attrib["aria-label"]) == ("img", "Tokens/s per GPU")


def test_a_boards_bars_are_its_rows() -> None:
    [throughput, price] = board_pictures(ranking(entries(3)).boards[0])
    label = published().layout.label
    assert throughput.rows == ((f"#1 {label}", "500.5"), (f"#2 {label}", "499.5"), (f"#3 {label}", "498.5"))
    assert [row[1] for row in price.rows] == ["$4.25", "$5.25", "$6.25"]
    texts = [element.text for element in ElementTree.fromstring(str(price.svg)).iter(f"{SVG}text")]
    assert [text for text in texts if text and text.startswith("$")] == ["$6.25", "$5.25", "$4.25"]
    widths = [float(bar.attrib["width"]) for bar in ElementTree.fromstring(str(price.svg)).iter(f"{SVG}rect")][2:]
    assert widths == sorted(widths, reverse=True)


def test_a_long_board_shows_its_best_and_says_so() -> None:
    [throughput, _] = board_pictures(ranking(entries(MOST_BARS + 5)).boards[0])
    assert len(throughput.rows) == MOST_BARS
    assert f"the best {MOST_BARS} of {MOST_BARS + 5}" in throughput.caption


def test_one_result_alone_is_not_compared() -> None:
    assert board_pictures(ranking(entries(1)).boards[0]) == ()


def test_memory_is_what_plan_says_stage_by_stage() -> None:
    picture = memory_picture(published())
    assert picture is not None
    assert picture.header == ("Stage", "weights", "gradients", "optimizer", "activations", "overhead", "free")
    assert [row[0] for row in picture.rows] == ["stage 0", "stage 1", "stage 2", "stage 3"]
    for row in picture.rows:
        assert sum(map(float, row[1:])) == pytest.approx(140.4, abs=0.4)
    assert picture.caption == "Planned GiB a GPU, of 140.4 usable. It fits."


def test_a_layout_that_does_not_fit_says_so() -> None:
    layout = {"layout.tp": 1, "layout.pp": 1, "layout.dp": 8, "layout.ep": 8, "gpu.count": 8}
    picture = memory_picture(changed(published(), layout | {"layout.sequence_parallel": False}))
    assert picture is not None
    assert "It does not fit" in picture.caption


def test_where_plan_has_no_memory_there_is_no_picture() -> None:
    assert memory_picture(smoke()) is None
    assert memory_picture(changed(published(), {"model": "Unknown"})) is None


def test_the_shipped_recipes_on_gpus_all_have_one() -> None:
    found, _ = read_entries(Library(root=shipped("recipes")))
    without = [entry.name for entry in found if memory_picture(entry.recipe) is None]
    assert without == ["qwen3.5-moe-mini/cpu/smoke-dp2"]


def test_equal_values_and_single_points_are_drawn() -> None:
    svg = chart.lines([("x", [(0.0, 1.0), (1.0, 1.0)])], title="T", unit=str, window=(0, 1))
    assert "nan" not in svg
    assert "inf" not in svg


def test_the_chart_library_leaves_imports_alone() -> None:
    assert [finder for finder in sys.meta_path if not hasattr(finder, "find_spec")] == []
    with pytest.raises(ModuleNotFoundError):  # and not a warning, which would be an error here
        importlib.import_module("no_such_module_anywhere")
