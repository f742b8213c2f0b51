"""Rows that look alike on a board say what tells them apart; the others say no more than before."""

from typing import Any

from varied_recipes import published

from openrecipes.recipe.layout import Layout
from openrecipes.recipe.library import Library
from openrecipes.shipped import shipped
from openrecipes.site.ranking import ranking, read_entries
from openrecipes.site.told_apart import told_apart


def layout(**changes: Any) -> Layout:
    return published().layout.model_copy(update=changes)


def test_look_alikes_name_the_clauses_that_differ() -> None:
    one, other = layout(summary="TP 1; no recompute; no offload"), layout(summary="TP 1; full recompute; no offload")
    assert told_apart([one, other]) == ["no recompute", "full recompute"]


def test_a_layout_that_looks_like_no_other_is_left_alone() -> None:
    assert told_apart(
        [layout(summary="a"), layout(summary="b", label="TP1"), layout(summary="c", highlights=None)]
    ) == [
        None,
        None,
        None,
    ]


def test_nothing_is_left_to_say_where_the_summaries_are_the_same_or_one_says_less() -> None:
    assert told_apart([layout(summary="a; b"), layout(summary="a; b")]) == ["", ""]
    assert told_apart([layout(summary="a"), layout(summary="a; b")]) == ["", "b"]


def test_no_two_rows_of_a_shipped_board_read_the_same() -> None:
    entries, _ = read_entries(Library(root=shipped("recipes")))
    boards = ranking(entries).boards
    for board in boards:
        shown = [(row.layout, row.highlights, row.apart) for row in board.rows]
        assert len(set(shown)) == len(shown)
    assert any(row.apart == "full recompute (uniform, 1 layer)" for board in boards for row in board.rows)
