"""A scorecard for people: the headline first, then what it rests on."""

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from openrecipes import units
from openrecipes.cli.pictures import sparkline
from openrecipes.cli.telemetry_lines import telemetry_lines
from openrecipes.figures.flops import FORMULA_ID as FLOPS_FORMULA
from openrecipes.figures.mfu import FORMULA_ID
from openrecipes.runs.ledger import Ledger
from openrecipes.score.scorecard import Figures, Scorecard
from openrecipes.score.sensitivity import Variant

Line = tuple[str, str, str]


def score_page(card: Scorecard, title: str, variants: Sequence[Variant] = ()) -> RenderableType:
    """The scorecard in at most 80 columns: figure, value, and what belongs to it."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(style="dim", overflow="fold")
    for name, value, note in _lines(card):
        table.add_row(Text(name), Text(value), Text(note))
    parts: list[RenderableType] = [Text(title, style="bold"), Text(_window(card), style="dim"), Text(), table]
    if card.ledger is not None:
        parts += [Text(), _ledger(card.ledger)]
    if card.attempts:
        parts += [Text(), _attempts(card)]
    if variants:
        parts += [Text(), _sensitivity(variants)]
    return Group(*parts)


def _window(card: Scorecard) -> str:
    if card.window is None:
        return f"{units.counted(card.steps_read, 'step')} read, none scored"
    first, last = card.window.ends
    return f"steps {first}-{last} of {card.steps_per_run} ({card.window.rule}), timer step_time (wait + train)"


def _lines(card: Scorecard) -> Iterator[Line]:
    known = card.figures
    if known is None:
        yield "tokens/s per GPU", "refused", "see the problems"
        yield "steps read", str(card.steps_read), ""
    else:
        yield from _headline(card, known)
        yield from _spread(known)
        yield "window tokens", units.thousands(known.window_tokens), f"{units.counted(card.steps_read, 'step')} read"
    if card.telemetry is not None:
        yield from telemetry_lines(card.telemetry)
    hours = "-" if card.gpu_hours is None else f"{card.gpu_hours:,.2f}"
    yield "GPU-hours", hours, card.gpu_hours_note
    yield "measured", str(card.measured or "-"), "weights: random" if card.weights else ""
    if card.deviations:
        yield "deviations", str(len(card.deviations)), "; ".join(card.deviations)
    yield "log sha256", (card.log_sha256 or "-")[:12], "of all runs' logs" if card.runs > 1 else ""


def _headline(card: Scorecard, known: Figures) -> Iterator[Line]:
    rate = units.tokens_per_s_per_gpu(known.tokens_per_s_per_gpu)
    interval = known.confidence_interval
    ends = "" if interval is None else f"95 % interval {interval[0]:,.2f} to {interval[1]:,.2f}"
    yield "tokens/s per GPU", f"{rate:,.2f}", ends
    if known.usd_per_million_tokens is None:
        yield "$ / 1M tokens", "-", card.usd_note or ""
    else:
        yield "$ / 1M tokens", f"{units.usd_per_million_tokens(known.usd_per_million_tokens):,.2f}", card.price or ""
    if known.mfu is None or card.active_params is None:
        yield "MFU", "-", card.mfu_note or ""
    else:
        note = f"{FORMULA_ID}, N = {units.thousands(card.active_params.count)} active parameters"
        yield "MFU", units.percent(known.mfu, 2), note
    if known.mfu_architecture is not None and card.flops is not None:
        note = f"{FLOPS_FORMULA}, {card.flops.total / 1e9:,.2f} GFLOP a token; for information"
        yield "  by exact FLOPs", units.percent(known.mfu_architecture, 2), note


def _spread(known: Figures) -> Iterator[Line]:
    times = known.step_time_s
    note = f"median {times.median:.3f}, p95 {times.p95:.3f}, {times.min:.3f} to {times.max:.3f}"
    yield "step time", f"{times.mean:.3f} s", note
    yield "", "", sparkline(known.scored_times_s, width=40)
    limit = "not steady: see the warnings" if known.unsteady else "steady"
    yield "step-time CV", f"{known.step_time_cv_percent:.2f} %", limit
    if known.drift is not None:
        yield "drift", units.change(known.drift.percent), f"across the window (p {known.drift.p_value:.2g})"


def _ledger(ledger: Ledger) -> Table:
    share = ledger.scored_share
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(
        "where the time went" if share is None else f"{units.percent(share)} of it was scored", no_wrap=True
    )
    table.add_column("took", justify="right", no_wrap=True)
    table.add_column("GPU-hours", justify="right", no_wrap=True)
    for phase in ledger.phases:
        words = phase.names if len(phase.names) == 1 else (phase.names[0], phase.names[-1])
        hours = f"{units.gpu_hours(phase.gpu_hours):,.2f}" if phase.gpu_hours else "-"
        table.add_row(" to ".join(word.replace("_", " ") for word in words), units.seconds(phase.seconds), hours)
    return table


def _attempts(card: Scorecard) -> Table:
    between = card.between_runs
    title = "runs" if between is None or between.cv_percent is None else f"runs, CV {between.cv_percent:.2f} %"
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(title, overflow="fold")
    table.add_column("tokens/s per GPU", justify="right", no_wrap=True)
    table.add_column("", style="dim", overflow="fold")
    for attempt in card.attempts:
        rate = attempt.tokens_per_s_per_gpu
        figure = "-" if rate is None else f"{units.tokens_per_s_per_gpu(rate):,.2f}"
        table.add_row(Text(attempt.name), figure, Text(", ".join(attempt.refused)))
    return table


def _sensitivity(variants: Sequence[Variant]) -> RenderableType:
    scored = variants[0].price
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("the same log under", "timer", "steps", "tokens/s per GPU", "$ / 1M", "moves by"):
        table.add_column(name, justify="left" if name in ("the same log under", "timer") else "right", no_wrap=True)
    prices = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("the same rate at", "$ / 1M", "moves by"):
        prices.add_column(name, justify="left" if name == "the same rate at" else "right", no_wrap=True)
    for variant in variants:
        window = "-" if variant.window is None else f"{variant.window[0]}-{variant.window[1]}"
        if variant.price == scored:
            table.add_row(variant.rule, variant.timer, window, *_moved(variant))
        elif variant.usd_per_million_tokens is not None:
            moved = "" if variant.usd_change_percent is None else units.change(variant.usd_change_percent)
            usd = f"{units.usd_per_million_tokens(variant.usd_per_million_tokens):,.2f}"
            prices.add_row(variant.price or "", usd, moved)
    return Group(table, Text(), prices) if prices.row_count else table


def _moved(variant: Variant) -> tuple[str, str, str]:
    if variant.tokens_per_s_per_gpu is None or variant.change_percent is None:
        return "-", "-", "too short" if variant.window is None else "no times"
    usd = variant.usd_per_million_tokens
    rate = units.tokens_per_s_per_gpu(variant.tokens_per_s_per_gpu)
    price = "-" if usd is None else f"{units.usd_per_million_tokens(usd):,.2f}"
    return f"{rate:,.2f}", price, units.change(variant.change_percent, 2)
