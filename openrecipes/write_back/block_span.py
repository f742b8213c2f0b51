"""Where a top-level block of a recipe and each of its entries stand in the text."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import yaml

from openrecipes.problems import Place, Problem, ProblemsError

_REST_OF_LINE = re.compile(r"[^\r\n\x85\u2028\u2029]*")


@dataclass(frozen=True, kw_only=True, slots=True)
class EntrySpan:
    """One key of the block: `text[start:end]` is the key with its value, up to `line_end` what stands beside it.

    `lead_start` is where the lines above it begin that belong to no other entry: blank lines and comments.
    `comment_line` is the line of a comment inside the value, None without one.
    """

    name: str
    lead_start: int
    start: int
    end: int
    line_end: int
    comment_line: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class BlockSpan:
    """A top-level key: `text[start:head_end]` is `key:`, `text[head_end:line_end]` what stands beside it.

    `entries` is empty where the value is none, one line, or in flow form; then it ends at `end`.
    """

    start: int
    head_end: int
    line_end: int
    end: int
    entries: tuple[EntrySpan, ...]
    comment_line: int | None


def block_span(text: str, file: str, key: str) -> BlockSpan:
    """The span of a top-level key in a sound recipe's text.

    Raises: ProblemsError if the key is missing or does not begin its line.
    """
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    pairs = root.value if isinstance(root, yaml.MappingNode) and not root.flow_style else []
    found = next(((k, v) for k, v in pairs if k.value == key and k.start_mark.column == 0), None)
    if found is None:
        raise ProblemsError(
            Problem(
                place=Place(file=file, line=1, key=key),
                rule="write-block-form",
                what=f"{key} is not a key at the start of a line of its own, so it cannot be replaced alone",
                mend=f"write the recipe in block form, with `{key}:` at the start of its line",
            )
        )
    key_node, value = found
    head_end = text.index(":", key_node.end_mark.index) + 1
    in_entries = isinstance(value, yaml.MappingNode) and not value.flow_style
    end = max(_end(text, value), head_end)
    return BlockSpan(
        start=key_node.start_mark.index,
        head_end=head_end,
        line_end=rest_of_line(text, head_end),
        end=end,
        entries=tuple(_entries(text, value, rest_of_line(text, head_end))) if in_entries else (),
        comment_line=_comment_line(text, head_end, value, end),
    )


def rest_of_line(text: str, position: int) -> int:
    """Where the line ends that holds `position`."""
    match = _REST_OF_LINE.match(text, position)
    return match.end() if match else position


def line_of(text: str, position: int) -> int:
    """The number, from 1, of the line that holds `position`."""
    return len(re.findall(r"\r\n|[\r\n\x85\u2028\u2029]", text[:position])) + 1


def _entries(text: str, mapping: yaml.MappingNode, lead_start: int) -> Iterator[EntrySpan]:
    for key, value in mapping.value:
        after_key = text.index(":", key.end_mark.index) + 1
        end = max(_end(text, value), after_key)
        line_end = rest_of_line(text, end)
        yield EntrySpan(
            name=str(key.value),
            lead_start=lead_start,
            start=key.start_mark.index,
            end=end,
            line_end=line_end,
            comment_line=_comment_line(text, after_key, value, end),
        )
        lead_start = line_end


def _end(text: str, node: yaml.Node) -> int:
    """Where a node's own text ends: PyYAML ends a block collection, and a literal scalar, at the next token only."""
    if isinstance(node, yaml.ScalarNode) or getattr(node, "flow_style", False):
        return node.start_mark.index + len(text[node.start_mark.index : node.end_mark.index].rstrip())
    return max(_end(text, leaf) for leaf in _children(node))


def _children(node: yaml.Node) -> Iterator[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        for pair in node.value:
            yield from pair
    elif isinstance(node, yaml.SequenceNode):
        yield from node.value


def _leaves(node: yaml.Node) -> Iterator[yaml.Node]:
    if isinstance(node, yaml.ScalarNode):
        yield node
    for child in _children(node):
        yield from _leaves(child)


def _comment_line(text: str, start: int, value: yaml.Node, end: int) -> int | None:
    """The line of the first comment between a colon and the end of the value: a `#` outside every scalar."""
    position = start
    for leaf in _leaves(value):
        begin, stop = leaf.start_mark.index, max(leaf.end_mark.index, position)
        # A literal scalar's first line, `|  # so`, may hold a comment too.
        header_end = rest_of_line(text, begin) if getattr(leaf, "style", None) in ("|", ">") else begin
        for first, last in ((position, begin), (begin, header_end)):
            if "#" in text[first:last]:
                return line_of(text, text.index("#", first))
        position = stop
    return line_of(text, text.index("#", position)) if "#" in text[position:end] else None
