"""The leaderboard: recipes that compare like with like, in order, and why others are not ranked.

ranking(ranked_recipes(library), model="Qwen3.5-397B-A17B")   -> Ranking(boards, unranked)
"""

import datetime
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from openrecipes.catalog.gpus import all_gpus, find_gpu
from openrecipes.figures.comparability import Comparable, comparable
from openrecipes.figures.mfu import mfu
from openrecipes.problems import Problem, ProblemsError, errors_in
from openrecipes.recipe.library import Library
from openrecipes.recipe.model import Author, Recipe, Status
from openrecipes.recipe.read import read_recipe
from openrecipes.recipe.write import plain
from openrecipes.site.told_apart import told_apart
from openrecipes.verdict.badge import Badge, verdict
from openrecipes.verdict.strength import Evidence, evidence


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """A recipe of the library under its short name."""

    name: str
    file: str
    recipe: Recipe


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One ranked recipe. Equal rates share a rank, the better proven first.

    `status` is the author's claim; `badge` is what the evidence earns, for the reasons `why`. `apart` tells rows of one
    label and the same highlights apart, in words; None where no other row looks like this one.
    """

    rank: int
    recipe: str
    file: str
    tokens_per_s_per_gpu: float
    usd_per_million_tokens: float | None
    mfu: float | None
    step_time_cv_percent: float | None
    gpus: int
    layout: str
    highlights: str | None
    apart: str | None
    measured: datetime.date | None
    author: Author
    status: Status
    runs: int | None
    badge: Badge
    why: tuple[str, ...]

    def document(self) -> dict[str, Any]:
        """The row as `--json` prints it."""
        return {
            "rank": self.rank,
            "recipe": self.recipe,
            "file": self.file,
            "tokens_per_s_per_gpu": self.tokens_per_s_per_gpu,
            "usd_per_million_tokens": self.usd_per_million_tokens,
            "mfu": self.mfu,
            "step_time_cv_percent": self.step_time_cv_percent,
            "gpus": self.gpus,
            "layout": self.layout,
            "highlights": self.highlights,
            "apart": self.apart,
            "measured": None if self.measured is None else self.measured.isoformat(),
            "author": plain(self.author),
            "status": self.status,
            "runs": self.runs,
            "badge": self.badge,
            "why": list(self.why),
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class Board:
    """One ranking of comparable results. `rows_kind` and `rows_name` say in words what the rows are."""

    key: Comparable
    rows_kind: str
    rows_name: str
    rows: tuple[Row, ...]

    def document(self) -> dict[str, Any]:
        """The board as `--json` prints it."""
        key = self.key
        return {
            "model": key.model,
            "gpu": key.gpu,
            "workload": {
                "row_tokens": key.row_tokens,
                "rows": self.rows_kind,
                "global_batch": key.global_batch,
                "precision": key.precision,
                "rows_name": self.rows_name,
                "rows_sha256": None if key.rows == self.rows_name else key.rows,
                "weights": key.weights or None,
                "routing": key.routing,
            },
            "rule": key.rule,
            "timer": key.timer,
            "rows": [row.document() for row in self.rows],
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class Unranked:
    """A recipe that is not ranked, and why."""

    recipe: str
    model: str
    gpu: str
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Ranking:
    """Every board of a library, by model, then GPU in the catalogue's order; and the recipes on none."""

    boards: tuple[Board, ...]
    unranked: tuple[Unranked, ...]


def read_entries(library: Library) -> tuple[tuple[Entry, ...], tuple[Problem, ...]]:
    """The sound recipes of a library, and what is wrong with the files left out: warnings, the others are ranked."""
    entries: list[Entry] = []
    problems: list[Problem] = []
    for path in library.files():
        try:
            located = read_recipe(path)
        except ProblemsError as error:
            problems.extend(replace(problem, severity="warning") for problem in errors_in(error.problems))
            continue
        entries.append(Entry(name=library.short_name(path), file=str(path), recipe=located.recipe))
    return tuple(entries), tuple(problems)


def ranking(entries: Iterable[Entry], *, model: str | None = None, gpu: str | None = None) -> Ranking:
    """Boards of the given entries; `model` and `gpu` (in whatever case) leave only theirs."""
    chosen = [entry for entry in entries if _is(entry.recipe.model, model) and _is(entry.recipe.gpu.type, gpu)]
    groups: dict[Comparable, list[Entry]] = {}
    unranked: list[Unranked] = []
    for entry in chosen:
        reason = why_not_ranked(entry.recipe)
        if reason is None:
            groups.setdefault(comparable(entry.recipe), []).append(entry)
        else:
            name, of = entry.name, entry.recipe
            unranked.append(Unranked(recipe=name, model=of.model, gpu=of.gpu.type, reason=reason))
    boards = [_board(key, groups[key]) for key in groups]
    return Ranking(boards=tuple(sorted(boards, key=_place_of_board)), unranked=tuple(unranked))


def why_not_ranked(recipe: Recipe) -> str | None:
    """Why a recipe is on no board, or None where it is on one."""
    result = recipe.result
    if recipe.status == "draft":
        return "draft: not measured"
    if recipe.status == "smoke" or recipe.trainer == "smoke":
        return "smoke: a test of the harness"
    if result.tokens_per_s_per_gpu is None:
        return "no figure: tokens_per_s_per_gpu is null"
    if result.unsteady:
        return "unsteady: the window breaks its rule's limits"
    if result.profiler:
        return "a profiler ran in the window"
    gpu = find_gpu(recipe.gpu.type)
    peak = gpu.peak_flops_per_s if gpu else None
    if peak and mfu(result.tokens_per_s_per_gpu, result.active_params.count, peak.value) > 1:
        return f"impossible: tokens_per_s_per_gpu is beyond the peak of {recipe.gpu.type}"
    return None


def _is(name: str, wanted: str | None) -> bool:
    return wanted is None or name.lower() == wanted.lower()


def _place_of_board(board: Board) -> tuple[str, int, int, Comparable]:
    order = [gpu.name for gpu in all_gpus()]
    place = order.index(board.key.gpu) if board.key.gpu in order else len(order)
    return board.key.model, place, -len(board.rows), board.key


def _board(key: Comparable, entries: list[Entry]) -> Board:
    workload = entries[0].recipe.workload
    return Board(
        key=key,
        rows_kind=workload.rows,
        rows_name=workload.dataset.build.name,
        rows=tuple(_rows(_in_order(entries))),
    )


def _in_order(entries: list[Entry]) -> list[Entry]:
    """The fastest first; of equally fast ones the better proven, then by name."""
    by_name = sorted(entries, key=lambda entry: entry.name)
    proven = sorted(by_name, key=_strength, reverse=True)
    return sorted(proven, key=lambda entry: -_rate(entry))


def _strength(entry: Entry) -> Evidence:
    found = evidence(entry.recipe.result, verdict(entry.recipe).badge)
    assert found is not None, "an entry without a figure is not ranked"
    return found


def _rate(entry: Entry) -> float:
    rate = entry.recipe.result.tokens_per_s_per_gpu
    assert rate is not None, "an entry without a figure is not ranked"
    return rate


def _rows(entries: list[Entry]) -> Iterator[Row]:
    rates = [_rate(entry) for entry in entries]
    told = told_apart([entry.recipe.layout for entry in entries])
    for entry, apart in zip(entries, told, strict=True):
        recipe, result = entry.recipe, entry.recipe.result
        earned = verdict(recipe)
        yield Row(
            rank=rates.index(_rate(entry)) + 1,
            recipe=entry.name,
            file=entry.file,
            tokens_per_s_per_gpu=_rate(entry),
            usd_per_million_tokens=result.usd_per_million_tokens,
            mfu=result.mfu,
            step_time_cv_percent=result.step_time_cv_percent,
            gpus=recipe.gpu.count,
            layout=recipe.layout.label,
            highlights=recipe.layout.highlights,
            apart=entry.name.rpartition("/")[2] if apart == "" else apart,
            measured=result.measured,
            author=recipe.author,
            status=recipe.status,
            runs=result.runs,
            badge=earned.badge,
            why=earned.why,
        )
