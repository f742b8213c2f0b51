"""The leaderboard for people, in 80 columns: like the page's ranking, board by board."""

import shlex
from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from openrecipes.site.other_gpus import OnGpu
from openrecipes.site.ranking import Board, Row, Unranked


def rank_page(
    boards: Sequence[tuple[Board, Sequence[OnGpu]]],
    headlines: Sequence[tuple[str, OnGpu]],
    unranked: Sequence[Unranked],
) -> RenderableType:
    """Every board with its model on other GPUs below, headlines without a board, then what is not ranked and why."""
    parts: list[RenderableType] = []
    for board, on_gpus in boards:
        parts += [*_board(board), *_other_gpus(board, on_gpus), Text()]
    if not boards:
        parts += [Text("No result is ranked here."), Text()]
    if headlines:
        parts += [Text("Published without a recipe", style="bold"), _figures(headlines), Text()]
    if unranked:
        parts.append(Text("Not ranked", style="bold"))
        parts += [Text(f"{one.recipe}\n  {one.reason}", style="dim") for one in unranked]
    else:
        parts = parts[:-1]
    return Group(*parts)


def _board(board: Board) -> Iterator[RenderableType]:
    key = board.key
    kind = "SFT rows" if board.rows_kind.startswith("SFT") else "rows"
    work = f"{key.row_tokens:,}-token {kind} · global batch {key.global_batch:,} · {key.precision.upper()}"
    known = "" if key.rows == board.rows_name else f" ({key.rows[:12]})"
    weights = " · random weights" if key.weights else ""
    yield Text(f"{key.model} on {key.gpu}", style="bold")
    yield Text(f"Ranked by tokens/s per GPU · {work}")
    yield Text(f"{board.rows_name}{known} · {key.rule}{weights}", style="dim")
    yield Text()
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name in ("\n#", "Tokens/s\nper GPU", "$ / 1M\ntokens", "\nGPUs"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("\nLayout", overflow="fold")
    table.add_column("\nMeasured", no_wrap=True)
    table.add_column("\nAuthor", overflow="fold")
    folder = _folder(board)
    for row in board.rows:
        table.add_row(*_cells(row, row.recipe.removeprefix(folder)))
    yield table
    yield Text(f"the first: openrecipes show {shlex.quote(board.rows[0].recipe)}", style="dim")


def _folder(board: Board) -> str:
    """What the short names of all rows start with, `qwen3-32b/h200/`; empty where they have nothing in common."""
    folders = {row.recipe[: row.recipe.rfind("/") + 1] for row in board.rows}
    return folders.pop() if len(folders) == 1 else ""


def _cells(row: Row, name: str) -> Iterator[Text]:
    yield Text(str(row.rank))
    yield Text(f"{row.tokens_per_s_per_gpu:,.1f}", style="bold")
    yield Text("-" if row.usd_per_million_tokens is None else f"${row.usd_per_million_tokens:,.2f}")
    yield Text(f"{row.gpus:,}")
    said = "\n".join(words for words in (name, row.highlights, row.apart) if words)
    yield Text.assemble(row.layout, (f"\n{said}" if said else "", "dim"))
    yield Text.assemble(str(row.measured or "-"), (f"\n{row.badge}", "green" if row.badge == "verified" else "dim"))
    yield Text(row.author.name)


def _other_gpus(board: Board, on_gpus: Sequence[OnGpu]) -> Iterator[RenderableType]:
    if all(one.is_this_board for one in on_gpus):
        return
    yield Text()
    yield Text(f"{board.key.model} on other GPUs", style="bold")
    yield _figures([("", one) for one in on_gpus])


def _figures(found: Sequence[tuple[str, OnGpu]]) -> Table:
    """One line a GPU; each with its model where that is not the board's."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    for _ in range(3):
        table.add_column(justify="right", no_wrap=True)
    table.add_column(style="dim", overflow="fold")
    for model, one in found:
        note = "this board" if one.is_this_board else (one.recipe or "recipe not published")
        price = "" if one.usd_per_million_tokens is None else f"${one.usd_per_million_tokens:,.2f} / 1M tokens"
        rate = f"{one.tokens_per_s_per_gpu:,.1f} tokens/s/GPU"
        table.add_row(one.gpu, f"{one.gpus:,} GPUs", rate, price, Text(model or note))
    return table
