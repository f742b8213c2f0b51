"""YAML read to plain values that still know their file, line and key.

PyYAML alone keeps the last of two equal keys in silence, reads `1e-5` as text, `no` as false, `010` as 8 and `1_4`
as 14, and lets anchors stand for anything. Here each of these is a problem with its line.
"""

import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

from openrecipes.bare_scalars import look_alike
from openrecipes.problems import Place, Problem, ProblemsError, unreadable

Path_ = tuple[str | int, ...]

MAX_BYTES: Final = 16 * 2**20
MAX_DEPTH: Final = 40
PIPE_PATIENCE_S: Final = 5

# The C parser is ten times faster, but not every build of PyYAML has it.
_LOADER: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TEXT_TAG: Final = "tag:yaml.org,2002:str"

# What the parser complains of, and how to mend it; the first that its words hold is taken.
_SYNTAX_MENDS: Final = (
    ("mapping values are not allowed", "quote the value if it holds `: `, or indent the line as its neighbours are"),
    ("could not find expected ':'", "write `key: value`; text of several lines follows `key: |`, indented"),
    ("expected ',' or", "close the bracket, or put commas between the items"),
    ("unexpected end of stream", "close the quote or the bracket"),
    ("unknown escape", "use single quotes, in which a backslash is a backslash"),
    ("expected key", "indent the line as its neighbours are"),
    ("expected '-' indicator", "start every item of the list with `- `"),
    ("tab character", "indent with spaces, not tabs"),
    ("cannot start any token", "indent with spaces, not tabs, and quote values that start with @, ` or %"),
)


def dotted(path: Path_) -> str:
    """A path as people write it: `workload.dataset.rows`, `correctness.component_tests[0].gpu`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else (f".{part}" if text else part)
    return text


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """Where one value stands: its key's line, the value's first and last line, all from 1.

    A scalar also has its text as the file writes it, without quotes, and its style: `'`, `"`, `|`, `>`, or
    nothing where it stands bare.
    """

    key_line: int
    first_line: int
    last_line: int
    written: str | None = None
    style: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class LocatedDocument:
    """One YAML mapping: its plain values, and the span of every key."""

    file: str
    text: str
    value: dict[str, Any]
    spans: Mapping[Path_, Span]
    problems: tuple[Problem, ...] = ()
    unread: frozenset[Path_] = frozenset()  # keys whose value could not be taken as it is written

    def place(self, path: Path_ | str = ()) -> Place:
        """The place of a key; of its nearest enclosing key if the key itself is missing."""
        parts = _split(path) if isinstance(path, str) else path
        known = parts
        while known and known not in self.spans:
            known = known[:-1]
        line = self.spans[known].key_line if known else 1
        return Place(file=self.file, line=line, key=dotted(parts))

    def span(self, path: Path_ | str) -> Span | None:
        """Where a value stands, or None if its key is missing."""
        return self.spans.get(_split(path) if isinstance(path, str) else path)

    def written(self, path: Path_ | str) -> str | None:
        """A scalar exactly as the file writes it, or None where it is no scalar or is missing."""
        span = self.span(path)
        return span.written if span else None

    def line_within(self, path: Path_ | str, index: int) -> int:
        """The file's line that holds line `index`, from 0, of a text; the key's line unless the text follows `|`."""
        span = self.span(path)
        if span is None:
            return 1
        return span.first_line + 1 + index if span.style == "|" else span.key_line


def _split(path: str) -> Path_:
    return tuple(int(part[1:-1]) if part.startswith("[") else part for part in re.findall(r"\[\d+\]|[^.\[\]]+", path))


def read_text(path: Path) -> str:
    """A UTF-8 text file. Raises UsageError if it is missing, unreadable or too large; ProblemsError if not UTF-8."""
    try:
        found = path.stat()
        if stat.S_ISDIR(found.st_mode):
            raise unreadable(str(path), "is a folder, not a file")
        if stat.S_ISFIFO(found.st_mode):
            data = _piped(path, found.st_ino)
        else:
            with path.open("rb") as stream:
                data = stream.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise unreadable(str(path), "there is no such file") from None
    except (OSError, ValueError) as error:
        raise unreadable(str(path), f"cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if len(data) > MAX_BYTES:
        raise unreadable(str(path), f"is larger than the {MAX_BYTES:,} bytes that such a file may have")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problem = Problem(
            place=Place(file=str(path), line=line),
            rule="yaml-utf8",
            what=f"byte 0x{data[error.start]:02x} at position {error.start:,} is not UTF-8",
            mend="save the file as UTF-8",
        )
        raise ProblemsError(problem) from None


@cache
def _piped(path: Path, inode: int) -> bytes:  # noqa: ARG001  (another pipe of the same name is another input)
    """What came through a pipe: it gives its bytes once, and whoever reads the file again gets them from here.

    Raises: OSError where a named pipe has no writer.
    """
    import select  # noqa: PLC0415  (pipes are rare, and a start is to be quick)

    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as stream:
        is_named = path.resolve().exists()  # the shell's own pipes have no place in a folder
        if is_named and not select.select([descriptor], [], [], PIPE_PATIENCE_S)[0]:
            raise TimeoutError(0, f"it is a pipe, and nothing wrote to it for {PIPE_PATIENCE_S} s")
        os.set_blocking(descriptor, True)
        return stream.read(MAX_BYTES + 1)


def located_yaml(text: str, file: str) -> LocatedDocument:
    """A YAML mapping with the place of every key.

    Duplicate keys, anchors, tags, and scalars that YAML reads as something other than they look like
    come back as `problems`; the rest of the document is still read.
    Raises: ProblemsError if the text is no YAML at all, or not a mapping.
    """
    reader = _Reader(text, file)
    try:
        value = reader.document()
    except yaml.MarkedYAMLError as error:
        raise ProblemsError(*reader.problems, _syntax_problem(error, text, file)) from None
    except yaml.reader.ReaderError as error:
        code = ord(error.character) if isinstance(error.character, str) else error.character
        line = text.count("\n", 0, error.position) + 1
        what = f"not YAML: the character U+{code:04X} is not allowed"
        raise ProblemsError(_problem(file, line, "yaml-syntax", what, "remove the character")) from None
    if not isinstance(value, dict):
        held = "a list" if isinstance(value, list) else ("nothing" if value is None else "one value")
        mend = "write `key: value` lines, as the files in recipes/ do"
        raise ProblemsError(_problem(file, 1, "yaml-mapping", f"the file holds {held}, not `key: value` lines", mend))
    return LocatedDocument(
        file=file,
        text=text,
        value=value,
        spans=reader.spans,
        problems=tuple(reader.problems),
        unread=frozenset(reader.unread),
    )


def _problem(file: str, line: int | None, rule: str, what: str, mend: str) -> Problem:
    return Problem(place=Place(file=file, line=line), rule=rule, what=what, mend=mend)


def _syntax_problem(error: yaml.MarkedYAMLError, text: str, file: str) -> Problem:
    mark = error.problem_mark or error.context_mark
    words = error.problem or error.context or ""
    if "nesting" in words:
        return _problem(file, mark.line + 1 if mark else None, *_TOO_DEEP)
    lines = text.splitlines()
    line = min(mark.line + 1, max(len(lines), 1)) if mark else None
    shown = lines[line - 1].strip()[:60] if line and lines else ""
    mend = next((mend for part, mend in _SYNTAX_MENDS if part in words), "mend the line; in doubt, quote the value")
    return _problem(file, line, "yaml-syntax", f"`{shown}` is not YAML: {words}", mend)


_TOO_DEEP: Final = ("yaml-depth", f"nested more than {MAX_DEPTH} levels deep", "write the values out flat")


class _Reader:
    """One walk over the parser's events: plain values, spans, problems, and paths whose value was not taken."""

    def __init__(self, text: str, file: str) -> None:
        self.file = file
        self.spans: dict[Path_, Span] = {}
        self.problems: list[Problem] = []
        self.unread: set[Path_] = set()
        self._events: Iterator[Any] = yaml.parse(text, Loader=_LOADER)
        self._constructor: Any = yaml.SafeLoader("")  # its resolve() has no types
        self._end: Any = None  # where the value read last ends

    def document(self) -> Any:
        """The value of the first document; a second one is a problem."""
        value = None
        next(self._events)
        if isinstance(next(self._events), yaml.DocumentStartEvent):
            value = self._value(next(self._events), ())
            next(self._events)
            following = next(self._events)
            if isinstance(following, yaml.DocumentStartEvent):
                mark: Any = following.start_mark
                line = mark.line + 1
                what, mend = "a second document starts here", "remove the `---`, or make it a file of its own"
                self.problems.append(_problem(self.file, line, "yaml-syntax", what, mend))
        return value

    def _value(self, event: Any, path: Path_) -> Any:
        self._end = event.end_mark
        if isinstance(event, yaml.AliasEvent):
            what = f"*{event.anchor} is an alias, and these are not read"
            return self._refuse(event, path, "yaml-anchor", what, "write the value out")
        if event.anchor is not None:
            what = f"&{event.anchor} is an anchor, and these are not read"
            self._complain(event, path, "yaml-anchor", what, "remove it, and write the value out wherever it is needed")
        if event.tag is not None:
            tag = event.tag.replace("tag:yaml.org,2002:", "!!")
            self._complain(event, path, "yaml-tag", f"{tag[:80]} is a tag, and these are not read", "remove the tag")
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event, path)
        if len(path) >= MAX_DEPTH:
            raise ProblemsError(*self.problems, _problem(self.file, event.start_mark.line + 1, *_TOO_DEEP))
        return self._mapping(path) if isinstance(event, yaml.MappingStartEvent) else self._sequence(path)

    def _sequence(self, path: Path_) -> list[Any]:
        items: list[Any] = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            items.append(self._spanned(event, event, (*path, len(items))))
        self._end = event.end_mark
        return items

    def _mapping(self, path: Path_) -> dict[str, Any]:
        entries: dict[str, Any] = {}
        while not isinstance(key := next(self._events), yaml.MappingEndEvent):
            if not isinstance(key, yaml.ScalarEvent):
                self._complain(key, path, "yaml-key", "a key must be one word", "write `key: value`")
                self._skip(key)
                self._skip(next(self._events))
            elif key.value in entries:
                here = (*path, key.value)
                what = f"{key.value} stands here a second time (first in line {self.spans[here].key_line})"
                self._complain(key, here, "yaml-duplicate-key", what, "keep one of the two")
                self._skip(next(self._events))
            else:
                entries[key.value] = self._spanned(key, next(self._events), (*path, key.value))
        self._end = key.end_mark
        return entries

    def _skip(self, event: Any) -> None:
        depth = 0
        while (
            depth := depth + isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        ):
            event = next(self._events)

    def _spanned(self, key: Any, event: Any, path: Path_) -> Any:
        value = self._value(event, path)
        scalar = isinstance(event, yaml.ScalarEvent)
        first, end = event.start_mark.line + 1, self._end
        self.spans[path] = Span(
            key_line=key.start_mark.line + 1,
            first_line=first,
            # A block ends where the next token starts: at column 0 of a later line.
            last_line=end.line + 1 if end.column > 0 else max(end.line, first),
            written=event.value if scalar else None,
            style=(event.style or "") if scalar else "",
        )
        return value

    def _scalar(self, event: Any, path: Path_) -> Any:
        text = event.value
        tag = self._constructor.resolve(yaml.ScalarNode, text, (not event.style, bool(event.style)))
        words = None if event.style else look_alike(tag, text)
        if words:
            return self._refuse(event, path, *words)
        if tag == _TEXT_TAG:
            return text
        try:
            return self._constructor.construct_object(yaml.ScalarNode(tag, text), deep=True)
        except (yaml.YAMLError, ValueError, OverflowError):
            what, mend = f"{text[:80]} cannot be read as a value", "quote it if text is meant"
            if tag.endswith("timestamp"):
                what, mend = f"{text[:80]} is no day of the calendar", "write a day such as 2026-10-11"
            return self._refuse(event, path, "yaml-value", what, mend)

    def _refuse(self, event: Any, path: Path_, rule: str, what: str, mend: str) -> None:
        self.unread.add(path)
        self._complain(event, path, rule, what, mend)

    def _complain(self, event: Any, path: Path_, rule: str, what: str, mend: str) -> None:
        place = Place(file=self.file, line=event.start_mark.line + 1, key=dotted(path))
        self.problems.append(Problem(place=place, rule=rule, what=what, mend=mend))
