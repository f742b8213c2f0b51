"""Rows for people: progress while they are built, the summary after, a row decoded."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Group, RenderableType
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

from openrecipes import units
from openrecipes.cli import output
from openrecipes.cli.pairs import pairs
from openrecipes.rows.build import BuildSettings
from openrecipes.rows.manifest import Manifest, manifest_path
from openrecipes.rows.show import DecodedRow
from openrecipes.rows.verify import Verified


class _TokensPerSecond(ProgressColumn):
    """How fast tokens are made."""

    def __init__(self, row_tokens: int) -> None:
        super().__init__()
        self._row_tokens = row_tokens

    def render(self, task: Task) -> Text:
        """`1,234,567 tokens/s`, or nothing before the first rows."""
        return Text(f"{units.thousands(task.speed * self._row_tokens)} tokens/s" if task.speed else "")


@contextmanager
def rows_progress(settings: BuildSettings) -> Iterator[Callable[[int, int], None] | None]:
    """What a build calls as rows are done: a bar on a terminal, nothing elsewhere."""
    if not output.is_terminal():
        yield None
        return
    columns = (
        TextColumn("rows"),
        BarColumn(),
        TextColumn("{task.completed:,.0f}/{task.total:,.0f}"),
        _TokensPerSecond(settings.row_tokens),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=output.console(stderr=True), transient=True) as bar:
        task = bar.add_task("rows", total=settings.rows)
        yield lambda done, _: bar.update(task, completed=done)


def built_page(manifest: Manifest, path: Path) -> RenderableType:
    """What was built, and where it lies."""
    counts = manifest.conversations
    skipped = "\n".join(
        f"{count:,} {reason} (first: {counts.first_skipped[reason]})" for reason, count in counts.skipped.items()
    )
    speed = manifest.tokens / manifest.wall_time_s if manifest.wall_time_s else 0.0
    return pairs(
        (
            ("rows", f"{manifest.rows:,} x {manifest.row_tokens:,} tokens, none of them padding"),
            ("supervised", f"{units.percent(manifest.supervised_token_ratio)} of the tokens"),
            ("conversations", f"{counts.used:,} used of {counts.read:,} read and {counts.available:,} there"),
            ("skipped", skipped or "none"),
            ("rows_sha256", manifest.rows_sha256),
            ("file", f"{path}  ({units.size(manifest.parquet_bytes)})"),
            ("manifest", str(manifest_path(path))),
            ("time", f"{units.seconds(manifest.wall_time_s)}, {units.thousands(speed)} tokens/s"),
        )
    )


def verified_page(verified: Verified, path: Path) -> RenderableType:
    """What a file holds, and the verdict."""
    return pairs(
        (
            ("file", f"{path}  ({units.size(verified.parquet_bytes)})"),
            (
                "rows",
                f"{verified.rows:,} x {verified.row_tokens:,} tokens, {verified.padding_tokens:,} of them padding",
            ),
            ("supervised", f"{units.percent(verified.supervised_token_ratio)} of the tokens"),
            ("rows_sha256", verified.rows_sha256 or "none: the rows cannot be read"),
            ("parquet_sha256", verified.parquet_sha256),
            ("verdict", "ok" if verified.ok else "not ok"),
        )
    )


def row_page(row: DecodedRow) -> RenderableType:
    """The row's text; supervised spans are green, and stand between marks where there is no colour."""
    plain = not output.console().is_terminal
    text = Text()
    for span in row.spans:
        marked = f"⟦{span.text}⟧" if span.supervised and plain else span.text
        text.append(marked, style="green" if span.supervised else "dim")
    title = f"row {row.row}: {row.row_tokens:,} tokens, {row.supervised_tokens:,} supervised"
    return Group(Text(title, style="bold"), text)
