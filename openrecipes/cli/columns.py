"""Plain text in aligned columns."""

from collections.abc import Sequence


def columns(rows: Sequence[tuple[str, ...]], right: tuple[int, ...] = ()) -> tuple[str, ...]:
    """Lines of aligned columns, never cut: figures must survive a narrow terminal or a pipe."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = (
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        lines.append("  ".join(cells).rstrip())
    return tuple(lines)
