"""The lines of a file that may hold any bytes, in pieces that fit into memory."""

from collections.abc import Iterator
from typing import BinaryIO, Final

MAX_LINE_BYTES: Final = 4 * 2**20


def text_lines(source: BinaryIO) -> Iterator[str]:
    """The file's lines with their ends; bytes that are no UTF-8 survive the way back through `surrogateescape`."""
    while piece := source.readline(MAX_LINE_BYTES):
        yield piece.decode("utf-8", "surrogateescape")
