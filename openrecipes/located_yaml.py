"""YAML read to plain values that still know their file, line and key.

PyYAML alone keeps the last of two equal keys in silence, reads `1e-5` as text and bare `12.10` as the
number 12.1, and expands anchors without bound. Here each of these is a problem with its line.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from openrecipes.problems import Place, Problem, ProblemsError, unreadable

Path_ = tuple[str | int, ...]

MAX_BYTES = 16 * 2**20
MAX_DEPTH = 40

_LOADER: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_FLOAT_READ_AS_TEXT = re.compile(r"[-+]?(\d[\d_]*\.?[\d_]*|\.\d[\d_]*)[eE][-+]?\d+")
_BASE_60 = re.compile(r"[-+]?\d+(:\d+)+(\.\d*)?")
_WORDS_READ_AS_BOOLEAN = frozenset({"y", "n", "yes", "no", "on", "off"})


def dotted(path: Path_) -> str:
    """A path as people write it: `workload.dataset.rows`, `correctness.component_tests[0].gpu`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else (f".{part}" if text else part)
    return text


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """Where one value stands: its key's line, the value's first and last line, all from 1."""

    key_line: int
    first_line: int
    last_line: int
    written: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class LocatedDocument:
    """One YAML mapping: its plain values, and the span of every key."""

    file: str
    text: str
    value: dict[str, Any]
    spans: Mapping[Path_, Span]
    problems: tuple[Problem, ...] = field(default=())

    def place(self, path: Path_ | str = ()) -> Place:
        """The place of a key; of its nearest enclosing key if the key itself is missing."""
        parts = _split(path) if isinstance(path, str) else path
        known = parts
        while known and known not in self.spans:
            known = known[:-1]
        line = self.spans[known].key_line if known else 1
        return Place(file=self.file, line=line, key=dotted(parts))

    def written(self, path: Path_ | str) -> str | None:
        """A scalar exactly as the file writes it, or None where it is no scalar or is missing."""
        span = self.spans.get(_split(path) if isinstance(path, str) else path)
        return span.written if span else None


def _split(path: str) -> Path_:
    return tuple(int(part[1:-1]) if part.startswith("[") else part for part in re.findall(r"\[\d+\]|[^.\[\]]+", path))


def read_text(path: Path) -> str:
    """A UTF-8 text file. Raises UsageError if it is missing, unreadable, too large or not UTF-8."""
    try:
        if path.is_dir():
            raise unreadable(str(path), "is a folder, not a file")
        if path.stat().st_size > MAX_BYTES:
            raise unreadable(
                str(path),
                f"has {path.stat().st_size} bytes; a file of this kind has at most {MAX_BYTES}",
                "name the right file",
            )
        data = path.read_bytes()
    except FileNotFoundError:
        raise unreadable(str(path), "there is no such file") from None
    except OSError as error:
        raise unreadable(str(path), f"cannot be read: {error.strerror}") from None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problem = Problem(
            place=Place(file=str(path), line=line),
            rule="yaml-utf8",
            what=f"byte 0x{data[error.start]:02x} at position {error.start} is not UTF-8",
            mend="save the file as UTF-8",
        )
        raise ProblemsError(problem) from None


def located_yaml(text: str, file: str) -> LocatedDocument:
    """A YAML mapping with the place of every key.

    Duplicate keys, anchors, and scalars that YAML reads as something other than they look like
    come back as `problems`; the rest of the document is still read.
    Raises: ProblemsError if the text is no YAML at all, or not a mapping.
    """
    root = _compose(text, file)
    if not isinstance(root, yaml.MappingNode):
        raise ProblemsError(
            Problem(
                place=Place(file=file, line=1),
                rule="yaml-mapping",
                what="the file holds no keys",
                mend="write `key: value` lines, as the files in recipes/ do",
            )
        )
    reader = _Reader(file)
    value = reader.value(root, ())
    assert isinstance(value, dict)
    return LocatedDocument(file=file, text=text, value=value, spans=reader.spans, problems=tuple(reader.problems))


def _compose(text: str, file: str) -> yaml.Node | None:
    try:
        # An alias lets a hundred bytes stand for gigabytes; a file that needs none loses nothing.
        depth = 0
        for event in yaml.parse(text, Loader=_LOADER):
            # Counted here, since composing a deep nest recurses in C and ends the process.
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > MAX_DEPTH:
                raise RecursionError
            if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
                raise ProblemsError(
                    Problem(
                        place=Place(file=file, line=event.start_mark.line + 1 if event.start_mark else None),
                        rule="yaml-anchor",
                        what=f"anchors and aliases are not read here ({getattr(event, 'anchor', '')!r})",
                        mend="write the value out where it is needed",
                    )
                )
        return yaml.compose(text, Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        what = " ".join(part for part in (error.context, error.problem) if part)
        line = mark.line + 1 if mark else None
    except yaml.reader.ReaderError as error:
        code = ord(error.character) if isinstance(error.character, str) else error.character
        what = f"character U+{code:04X} is not allowed in YAML"
        line = text.count("\n", 0, error.position) + 1
    except RecursionError:
        what, line = f"nested more than {MAX_DEPTH} levels deep", None
    raise ProblemsError(
        Problem(
            place=Place(file=file, line=line),
            rule="yaml-syntax",
            what=f"not YAML: {what}",
            mend="mend the line; in doubt, quote the value",
        )
    )


class _Reader:
    """One walk over the nodes: plain values, spans and problems."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.spans: dict[Path_, Span] = {}
        self.problems: list[Problem] = []
        self._constructor = yaml.SafeLoader("")

    def value(self, node: yaml.Node, path: Path_) -> Any:
        if len(path) > MAX_DEPTH:
            self._complain(node, path, "yaml-depth", f"nested more than {MAX_DEPTH} levels deep", "flatten it")
            return None
        if isinstance(node, yaml.MappingNode):
            return dict(self._entries(node, path))
        if isinstance(node, yaml.SequenceNode):
            items = []
            for index, item in enumerate(node.value):
                self._span(item, item, (*path, index))
                items.append(self.value(item, (*path, index)))
            return items
        return self._scalar(node, path)

    def _entries(self, node: yaml.MappingNode, path: Path_) -> Iterator[tuple[str, Any]]:
        first: dict[str, int] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                self._complain(key_node, path, "yaml-key", "a key must be one word", "write `key: value`")
                continue
            key = str(key_node.value)
            line = key_node.start_mark.line + 1
            if key in first:
                self._complain(
                    key_node,
                    (*path, key),
                    "yaml-duplicate-key",
                    f"{key} stands here a second time (first in line {first[key]})",
                    "keep one of the two",
                )
                continue
            first[key] = line
            self._span(key_node, value_node, (*path, key))
            yield key, self.value(value_node, (*path, key))

    def _span(self, key: yaml.Node, node: yaml.Node, path: Path_) -> None:
        first, end = node.start_mark.line + 1, node.end_mark
        # A block ends where the next token starts: at column 0 of a later line.
        last = end.line + 1 if end.column > 0 else max(end.line, first)
        written = node.value if isinstance(node, yaml.ScalarNode) else None
        self.spans[path] = Span(key_line=key.start_mark.line + 1, first_line=first, last_line=last, written=written)

    def _scalar(self, node: yaml.Node, path: Path_) -> Any:
        assert isinstance(node, yaml.ScalarNode)
        text = str(node.value)
        if node.style is None:
            self._look_alikes(node, path, text)
        try:
            return self._constructor.construct_object(node, deep=True)
        except (yaml.YAMLError, ValueError, OverflowError) as error:
            reason = getattr(error, "problem", None) or str(error)
            self._complain(node, path, "yaml-value", f"{text[:80]} cannot be read: {reason}", "quote it, or mend it")
            return None

    def _look_alikes(self, node: yaml.ScalarNode, path: Path_, text: str) -> None:
        tag = node.tag.rsplit(":", 1)[-1]
        if tag == "str" and _FLOAT_READ_AS_TEXT.fullmatch(text):
            mantissa, exponent = re.split("[eE]", text)
            sign = exponent if exponent[0] in "+-" else f"+{exponent}"
            number = f"{mantissa if '.' in mantissa else mantissa + '.0'}e{sign}"
            self._complain(
                node,
                path,
                "yaml-number-as-text",
                f"YAML reads {text} as text, not as a number",
                f"write {number}, or quote it if text is meant",
            )
        elif tag == "bool" and text.lower() in _WORDS_READ_AS_BOOLEAN:
            self._complain(
                node,
                path,
                "yaml-word-as-boolean",
                f"YAML reads {text} as true or false",
                "write true or false, or quote it if text is meant",
            )
        elif tag in ("int", "float") and _BASE_60.fullmatch(text):
            self._complain(node, path, "yaml-base-60", f"YAML reads {text} as a base-60 number", f"quote it: '{text}'")

    def _complain(self, node: yaml.Node, path: Path_, rule: str, what: str, mend: str) -> None:
        place = Place(file=self.file, line=node.start_mark.line + 1, key=dotted(path))
        self.problems.append(Problem(place=place, rule=rule, what=what, mend=mend))
