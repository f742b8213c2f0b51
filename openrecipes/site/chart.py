"""Charts as SVG for a page: drawn by pygal, coloured by the style sheet, so that they follow light, dark and print.

What pygal adds for charts on their own (scripts, styles, tooltips, the day of the drawing) is taken out again: a page
allows no script or style of its own, and two builds have equal bytes.
"""

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final
from xml.etree.ElementTree import Element, tostring

import pygal
from markupsafe import Markup
from pygal.style import Style

# pygal hangs an importer of the old kind into Python, for plugins of maps; every import that finds nothing would
# warn of it from then on.
sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder).__module__ != "pygal"]

Points = Sequence[tuple[float, float]]

WIDTH: Final = 440
_LABEL: Final = 12
_STYLE: Final = Style(
    label_font_size=_LABEL, major_label_font_size=_LABEL, value_font_size=_LABEL, legend_font_size=_LABEL
)
_SHARED: Final[Mapping[str, Any]] = {
    "style": _STYLE,
    "width": WIDTH,
    "js": (),
    "css": (),
    "no_prefix": True,
    "classes": ("chart",),
    "show_legend": False,
    "margin": 8,
    "no_data_text": "",
}
_DROPPED: Final = frozenset({"defs", "title", "desc", "script", "style"})
_EMPTY_GROUPS: Final = ("titles", "tooltip", "text-overlay", "legends")
_PLACES: Final = frozenset({"d", "x", "y", "width", "height", "cx", "cy"})
_LONG_NUMBER: Final = re.compile(r"(\d+\.\d)\d+")


def lines(
    series: Sequence[tuple[str, Points]], *, title: str, unit: Callable[[float], str], window: tuple[int, int] | None
) -> Markup:
    """Lines over step numbers, the window's steps shaded. Series of one point are a dot."""
    values = [y for _, points in series for _, y in points]
    low, high = min(values), max(values)
    room = (high - low) * 0.08 or abs(high) * 0.05 or 1.0
    numbers = [x for _, points in series for x, _ in points]
    chart = pygal.XY(
        **_SHARED,
        height=220,
        dots_size=2.5,
        show_dots=len(numbers) <= 120,
        show_x_guides=False,
        range=(low - room, high + room),
        xrange=(min(numbers) - 0.5, max(numbers) + 0.5),
        x_value_formatter=lambda value: f"{value:.0f}" if float(value).is_integer() else "",
        value_formatter=unit,
        max_scale=6,
    )
    first, last = (window[0] - 0.5, window[1] + 0.5) if window else (0.0, 0.0)
    first, last = max(first, min(numbers) - 0.5), min(last, max(numbers) + 0.5)
    if first < last:
        corners = [(first, low - room), (first, high + room), (last, high + room), (last, low - room)]
        chart.add("window", corners, fill=True, show_dots=False)
    else:
        chart.add("window", [])
    for name, points in series:
        chart.add(name, list(points))
    return _drawn(chart, title)


def bars(rows: Sequence[tuple[str, float]], *, title: str, unit: Callable[[float], str]) -> Markup:
    """One bar a row, the first on top, each with its value."""
    chart = pygal.HorizontalBar(
        **_SHARED,
        height=28 + 30 * len(rows),
        print_values=True,
        print_values_position="top",
        show_x_guides=False,
        show_x_labels=False,
        value_formatter=unit,
        range=(0, max(value for _, value in rows) * 1.22),
        truncate_label=-1,
    )
    chart.x_labels = [name for name, _ in reversed(rows)]
    chart.add("", [value for _, value in reversed(rows)])
    return _drawn(chart, title)


def stacks(
    rows: Sequence[str], parts: Sequence[tuple[str, Sequence[float]]], *, title: str, unit: Callable[[float], str]
) -> Markup:
    """One stacked bar a row, the first row on top; the parts keep their order and colour."""
    chart = pygal.HorizontalStackedBar(
        **_SHARED, height=48 + 30 * len(rows), value_formatter=unit, max_scale=6, truncate_label=-1
    )
    chart.x_labels = list(reversed(rows))
    for name, values in parts:
        chart.add(name, list(reversed(values)))
    return _drawn(chart, title)


def _drawn(chart: Any, title: str) -> Markup:
    root: Element = chart.render_tree()
    _strip(root)
    root.attrib.pop("id", None)
    root.attrib.update({"role": "img", "aria-label": title, "width": str(WIDTH), "height": str(chart.config.height)})
    # The XML writer escaped every text.
    return Markup(tostring(root, encoding="unicode"))  # noqa: S704


def _strip(element: Element) -> None:
    for name in _PLACES.intersection(element.attrib):
        element.set(name, _LONG_NUMBER.sub(r"\1", element.attrib[name]))
    for child in list(element):
        kind = child.get("class", "")
        is_empty = any(name in kind.split() for name in _EMPTY_GROUPS) and not any(True for _ in child.iter("text"))
        if not isinstance(child.tag, str) or child.tag in _DROPPED or is_empty or "tooltip" in kind.split():
            element.remove(child)
        else:
            _strip(child)
