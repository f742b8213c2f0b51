"""A recipe's text with one block replaced and every other byte as it was.

    text_with_block(text, file, "result", plain(result))   -> str

Comments of the block stay where they are; an entry whose value does not change keeps its very text.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from openrecipes.located_yaml import located_yaml
from openrecipes.problems import Place, Problem, ProblemsError
from openrecipes.recipe.write import block_text
from openrecipes.write_back.block_span import BlockSpan, EntrySpan, block_span, line_of, rest_of_line
from openrecipes.write_back.unchanged import prove_unchanged, same_value

BlockName = Literal["result", "correctness", "stack"]


def text_with_block(text: str, file: str, key: BlockName, value: Mapping[str, Any]) -> str:
    """The text with the block's value replaced; lines end as the block's first line does.

    `text` is a sound recipe. Raises: ProblemsError if a comment would be lost, the text is not in block form, or the
    new text cannot be shown to differ in this block alone.
    """
    old = located_yaml(text, file).value.get(key)
    if same_value(old, dict(value)):
        return text
    span = block_span(text, file, key)
    old_entries = old if isinstance(old, dict) else {}
    lost = tuple(_lost(file, *place) for place in _lost_comments(text, key, span, old_entries, value))
    if lost:
        raise ProblemsError(*lost)
    newline = _newline(text, span)
    lines = _old_and_new(text, span, old_entries, value) if span.entries else _only_new(text, span, value)
    tail = span.entries[-1].line_end if span.entries else rest_of_line(text, span.end)
    head = text[: span.line_end if span.entries else span.head_end]
    new = head + "".join(piece.replace("\n", newline) if is_new else piece for piece, is_new in lines) + text[tail:]
    prove_unchanged(text, new, file, key, value)
    return new


def _old_and_new(
    text: str, span: BlockSpan, old: Mapping[str, Any], value: Mapping[str, Any]
) -> Iterator[tuple[str, bool]]:
    """The block's pieces in order; True marks text of ours, whose line ends are still bare newlines."""
    entries = {entry.name: entry for entry in span.entries}
    indent = _indent(text, span.entries[0])
    for name in _order(tuple(entries), tuple(value)):
        entry = entries.get(name)
        if entry is None:
            yield "\n" + _entry_text(name, value[name], indent), True
            continue
        yield text[entry.lead_start : entry.start], False
        if same_value(old[name], value[name]):
            yield text[entry.start : entry.end], False
        else:
            yield _entry_text(name, value[name], indent).lstrip(), True
        yield text[entry.end : entry.line_end], False


def _only_new(text: str, span: BlockSpan, value: Mapping[str, Any]) -> Iterator[tuple[str, bool]]:
    yield text[span.end : rest_of_line(text, span.end)], False  # a comment beside `key: null` now stands beside `key:`
    for name, item in value.items():
        yield "\n" + _entry_text(name, item, "  "), True


def _order(old: tuple[str, ...], new: tuple[str, ...]) -> tuple[str, ...]:
    """Old entries in their own order, without those that go; each new one after the entry that it follows in `new`."""
    order = [name for name in old if name in new]
    for place, name in enumerate(new):
        if name not in order:
            before = next((n for n in reversed(new[:place]) if n in order), None)
            order.insert(0 if before is None else order.index(before) + 1, name)
    return tuple(order)


def _entry_text(name: str, value: Any, indent: str) -> str:
    """The entry's lines as the canonical form writes them in a block of this indent, without the last line end."""
    plain = list(value) if isinstance(value, tuple) else value
    lines = block_text({"block": {name: plain}}).split("\n")[1:]
    return "\n".join(indent + line[2:] if line else line for line in lines).rstrip("\n")


def _indent(text: str, entry: EntrySpan) -> str:
    before = text[: entry.start]
    return before[len(before.rstrip(" ")) :]


def _newline(text: str, span: BlockSpan) -> str:
    return "\r\n" if text.startswith("\r\n", span.line_end) else "\n"


def _lost_comments(
    text: str, key: str, span: BlockSpan, old: Mapping[str, Any], value: Mapping[str, Any]
) -> Iterator[tuple[str, int]]:
    """Key and line of each comment that no longer has a place: in a value that changes, beside an entry that goes."""
    if not span.entries and span.comment_line:
        yield key, span.comment_line
    for entry in span.entries:
        goes = entry.name not in value
        around = text[entry.lead_start : entry.start], text[entry.end : entry.line_end]
        if entry.comment_line and (goes or not same_value(old[entry.name], value[entry.name])):
            yield f"{key}.{entry.name}", entry.comment_line
        elif goes and any("#" in part for part in around):
            first = entry.lead_start if "#" in around[0] else entry.end
            yield f"{key}.{entry.name}", line_of(text, text.index("#", first))


def _lost(file: str, key: str, line: int) -> Problem:
    return Problem(
        place=Place(file=file, line=line, key=key),
        rule="write-keeps-comments",
        what="the comment in this line would be lost with the value that it stands in",
        mend="move it to a line of its own above the key, or out of the block",
    )
