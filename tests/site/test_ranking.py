"""Boards compare like with like; drafts, smoke and unsteady results stand on none."""

import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from varied_recipes import changed, published, smoke
from verified_evidence import RECOMPUTABLE

from openrecipes.catalog.headlines import headlines_of
from openrecipes.recipe.library import Library
from openrecipes.shipped import shipped
from openrecipes.site.other_gpus import on_gpus, without_board
from openrecipes.site.ranking import Entry, Ranking, ranking, read_entries

BASE = published()


def entry(name: str, **changes: Any) -> Entry:
    keys = {key.replace("__", "."): value for key, value in changes.items()}
    return Entry(name=name, file=f"recipes/{name}.yaml", recipe=changed(BASE, keys))


def names(found: Ranking) -> list[list[str]]:
    return [[row.recipe for row in board.rows] for board in found.boards]


def test_the_shipped_recipes_rank_as_the_page_does() -> None:
    entries, problems = read_entries(Library(root=shipped("recipes")))
    assert problems == ()
    found = ranking(entries, model="Qwen3.5-397B-A17B")
    [board] = found.boards
    assert [
        (row.rank, row.tokens_per_s_per_gpu, row.usd_per_million_tokens, row.gpus, row.layout, row.measured)
        for row in board.rows
    ] == [
        (1, 545.32, 4.03, 128, "TP2 PP4 EP32 DP16", datetime.date(2026, 10, 11)),
        (2, 506.73, 4.34, 128, "TP1 PP4 EP32 DP32", datetime.date(2026, 10, 13)),
        (3, 469.19, 4.68, 128, "TP2 PP2 EP64 DP32", datetime.date(2026, 10, 13)),
    ]
    assert {row.highlights for row in board.rows} == {"max 8,192 tokens/GPU, no offload"}
    assert (board.key.gpu, board.key.rule, board.rows_name) == ("H200", "skip-quarter/1", "qwen35-tulu3-fixed8192-v1")


RATES = st.lists(st.floats(0.01, 5000).map(lambda rate: round(rate, 2)), min_size=1, max_size=8)


@given(RATES)
def test_rows_fall_in_rate_and_equal_rates_share_a_rank(rates: list[float]) -> None:
    entries = [entry(f"r{n}", result__tokens_per_s_per_gpu=rate) for n, rate in enumerate(rates)]
    [board] = ranking(entries).boards
    found = [row.tokens_per_s_per_gpu for row in board.rows]
    assert found == sorted(rates, reverse=True)
    assert [row.rank for row in board.rows] == [1 + sum(other > rate for other in rates) for rate in found]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("model", "Qwen3.5-35B-A3B"),
        ("gpu.type", "H100"),
        ("workload.row_tokens", 4096),
        ("workload.global_batch", 256),
        ("workload.precision", "fp8"),
        ("workload.dataset.rows_sha256", "c" * 64),
        ("workload.dataset.rows_sha256", None),
        ("result.window", (5, 13)),
        ("result.rule", "last-10/1"),
        ("result.timer", "train_time"),
        ("result.weights", "random"),
    ],
)
def test_what_is_not_alike_stands_on_its_own_board(key: str, value: object) -> None:
    other = Entry(name="other", file="", recipe=changed(BASE, {key: value, "result.tokens_per_s_per_gpu": 900.0}))
    assert sorted(map(tuple, names(ranking([entry("base"), other])))) == [("base",), ("other",)]


def test_a_rule_that_is_named_equals_one_that_the_window_shows() -> None:
    named = entry("named", result__rule="skip-quarter/1", result__timer="step_time")
    twenty = entry("twenty", result__steps_per_run=20, result__window=(5, 19))
    assert names(ranking([entry("base"), named, twenty])) == [["base", "named", "twenty"]]


def test_of_equally_fast_results_the_better_proven_stands_first() -> None:
    hashed = entry("c-hashed", result__log_sha256="1" * 64)
    many = entry("b-many", result__runs=5)
    once = entry("a-once")
    proven = entry("d-proven", result__runs=5, **{key.replace(".", "__"): value for key, value in RECOMPUTABLE.items()})
    [board] = ranking([once, many, hashed, proven]).boards
    assert [row.recipe for row in board.rows] == ["d-proven", "c-hashed", "b-many", "a-once"]
    assert [row.rank for row in board.rows] == [1, 1, 1, 1]
    assert [row.badge for row in board.rows] == ["verified", "measured", "measured", "measured"]


def test_a_row_has_the_badge_that_its_evidence_earns_and_says_why() -> None:
    [board] = ranking([entry("base")]).boards
    row = board.document()["rows"][0]
    assert (row["status"], row["badge"]) == ("verified", "measured")
    assert any("reference: Not published" in reason for reason in row["why"])


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("status", "draft", "draft"),
        ("status", "smoke", "smoke"),
        ("trainer", "smoke", "smoke"),
        ("result.unsteady", True, "unsteady"),
        ("result.tokens_per_s_per_gpu", None, "no figure"),
        ("result.profiler", True, "a profiler"),
    ],
)
def test_what_is_never_ranked_says_why(key: str, value: object, reason: str) -> None:
    other = Entry(name="other", file="", recipe=changed(BASE, {key: value}))
    found = ranking([entry("base"), other])
    assert names(found) == [["base"]]
    [unranked] = found.unranked
    assert unranked.recipe == "other"
    assert unranked.reason.startswith(reason)


def test_the_smoke_recipe_is_on_no_board() -> None:
    found = ranking([Entry(name="smoke", file="", recipe=smoke())])
    assert found.boards == ()
    assert len(found.unranked) == 1


def test_filters_take_any_case_and_leave_the_rest_out() -> None:
    entries = [entry("h200"), entry("h100", gpu__type="H100")]
    assert names(ranking(entries, gpu="h100")) == [["h100"]]
    assert names(ranking(entries, model="qwen3.5-397b-a17b")) == [["h100"], ["h200"]]  # in the catalogue's order
    assert ranking(entries, model="other").boards == ()


def test_other_gpus_come_from_headlines_and_the_own_one_from_the_board() -> None:
    boards = ranking([entry("base")]).boards
    found = {one.gpu: one for one in on_gpus(boards[0], boards)}
    assert [(gpu, one.tokens_per_s_per_gpu, one.usd_per_million_tokens, one.gpus) for gpu, one in found.items()] == [
        ("H100", 313.3, 6.10, 128),
        ("H200", 545.32, 4.03, 128),
        ("B200", 1232.5, 3.21, 64),
    ]
    assert [gpu for gpu, one in found.items() if one.is_this_board] == ["H200"]
    assert len(headlines_of(BASE.model)) == 3


def test_a_ranked_result_of_the_same_work_counts_before_a_headline() -> None:
    entries = [entry("h200"), entry("h100", gpu__type="H100", result__tokens_per_s_per_gpu=320.0)]
    boards = ranking(entries).boards
    h200 = next(board for board in boards if board.key.gpu == "H200")
    [h100] = [one for one in on_gpus(h200, boards) if one.gpu == "H100"]
    assert (h100.tokens_per_s_per_gpu, h100.recipe, h100.is_this_board) == (320.0, "h100", False)
    other = entry("h100", gpu__type="H100", result__tokens_per_s_per_gpu=320.0, workload__row_tokens=4096)
    boards = ranking([entry("h200"), other]).boards
    h200 = next(board for board in boards if board.key.gpu == "H200")
    assert [one.tokens_per_s_per_gpu for one in on_gpus(h200, boards) if one.gpu == "H100"] == [313.3]


def test_headlines_are_shown_where_no_board_is() -> None:
    assert {one.gpu for _, one in without_board((), None, None)} == {"H100", "H200", "B200"}
    assert [one.gpu for _, one in without_board((), "qwen3.5-397b-a17b", "b200")] == ["B200"]
    assert without_board(ranking([entry("base")]).boards, None, None) == ()
    assert without_board((), "other", None) == ()
