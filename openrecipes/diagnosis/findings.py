"""What a run's logs say of trouble, line by line: each finding with its place and origin."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from openrecipes.diagnosis.origin import NOWHERE, Origin, global_rank, origin, pid_and_rank
from openrecipes.diagnosis.signatures import Kind, Mark, Seen, Trouble, recogniser, table
from openrecipes.logs.passages import Passage, PassageScanner

_MOST_OF_A_CLASS: Final = 40
_MOST_PROCESSES: Final = 20_000
_SHOWN: Final = 500
_TRACEBACK_REACH: Final = 3000
_IGNORED_REACH: Final = 60
_OWN_TRACEBACK: Final = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One place where trouble shows. `line` is None where no single line shows it."""

    trouble: Trouble
    text: str
    file: str = ""
    line: int | None = None
    stamp_s: float | None = None
    origin: Origin = NOWHERE
    remedy: str = ""
    is_hint: bool = False

    @property
    def name(self) -> str:
        """Its class."""
        return self.trouble.name

    @property
    def kind(self) -> Kind:
        """What it says about the run."""
        return self.trouble.kind

    def document(self) -> dict[str, Any]:
        """The finding as `--json` prints it."""
        return {
            "class": self.name,
            "kind": str(self.kind),
            "file": self.file,
            "line": self.line,
            "text": self.text,
            "rank": self.origin.rank,
            "node": self.origin.node,
            "pid": self.origin.pid,
            "means": self.trouble.means,
            "remedy": self.remedy or self.trouble.remedy,
        }


def computed(name: str, text: str, *, file: str = "", line: int | None = None, stamp_s: float | None = None) -> Finding:
    """A finding of a class that no single line shows. Raises: KeyError for a class that the table has not."""
    return Finding(trouble=table().of(name), text=text, file=file, line=line, stamp_s=stamp_s)


@dataclass(kw_only=True, slots=True)
class SignScanner:
    """Feed it one log's bytes as they come; it keeps the findings, at most so many of a class."""

    file: str
    findings: list[Finding] = field(default_factory=list)
    succeeded: tuple[int, str] | None = None  # line and text of the last claim of success
    said_ranks: dict[int, str] = field(default_factory=dict)
    _scanner: PassageScanner[Seen] = field(init=False)
    _kept: dict[str, int] = field(default_factory=dict)
    _traceback: int = -(10**9)
    _ignored: int = -(10**9)
    _task: Origin = NOWHERE

    def __post_init__(self) -> None:
        self._scanner = PassageScanner(self.file, [stem.encode() for stem in table().stems], recogniser())

    def feed(self, data: bytes) -> list[Finding]:
        """Findings that these bytes completed."""
        return self._take(self._scanner.feed(data))

    def close(self) -> list[Finding]:
        """Findings in what is left when the log ends."""
        return self._take(self._scanner.close())

    @property
    def newest_stamp_s(self) -> float | None:
        """The log's own time at its end so far, as far as it says."""
        return self._scanner.newest_stamp_s()

    @property
    def last_text(self) -> str:
        """The log's last line so far, with its prefix."""
        return self._scanner.last_text()

    def _take(self, found: list[Passage[Seen]]) -> list[Finding]:
        fresh: list[Finding] = []
        for passage in found:
            self._note(passage)
            finding = self._finding(passage)
            if finding is not None:
                self._kept[finding.name] = self._kept.get(finding.name, 0) + 1
                if self._kept[finding.name] <= _MOST_OF_A_CLASS:
                    fresh.append(finding)
        self.findings.extend(fresh)
        return fresh

    def _note(self, passage: Passage[Seen]) -> None:
        mark = passage.note.mark
        if mark is Mark.TRACEBACK:
            self._traceback = passage.line
            if passage.line - self._ignored > _OWN_TRACEBACK:
                self._ignored = -(10**9)  # what follows is no longer the exception that Python ignored
        elif mark is Mark.IGNORED:
            self._ignored = passage.line
        elif mark is Mark.SUCCEEDED:
            self.succeeded = passage.line, shown(passage.text)
        elif mark is Mark.TASK_ERROR:
            self._task = origin(passage.text, writer=passage.writer, before="", file="")
            self._traceback = passage.line
        elif mark is Mark.RANK_OF_PROCESS:
            said = pid_and_rank(passage.text, passage.writer)
            if said and len(self.said_ranks) < _MOST_PROCESSES:
                self.said_ranks.setdefault(*said)

    def _finding(self, passage: Passage[Seen]) -> Finding | None:
        signature = passage.note.signature
        if signature is None:
            return None
        if signature.after_traceback_only:
            if passage.line - self._traceback > _TRACEBACK_REACH:
                return None
            if passage.line - self._ignored <= _IGNORED_REACH:
                self._ignored = -(10**9)
                return None
        place = origin(passage.text, writer=passage.writer, before=passage.before, file=self.file)
        is_of_task = passage.line - self._traceback <= _TRACEBACK_REACH and not passage.writer
        return Finding(
            trouble=signature,
            text=shown(passage.text),
            file=passage.file,
            line=passage.line,
            stamp_s=passage.stamp_s,
            origin=place.over(self._task) if is_of_task and signature.kind in _RAISED else place,
            remedy=passage.note.remedy,
            is_hint=bool(passage.note.sign and passage.note.sign.hint),
        )


_RAISED: Final = (Kind.CAUSE, Kind.EXCEPTION, Kind.SYMPTOM)


def with_ranks(finding: Finding, said: Mapping[int, str], arguments: Mapping[str, str]) -> Finding:
    """The finding with the rank that its process said of itself elsewhere in the log."""
    place = finding.origin
    if place.rank is not None or place.pid is None or place.pid not in said:
        return finding
    return replace(finding, origin=replace(place, rank=global_rank(said[place.pid], arguments)))


def shown(text: str) -> str:
    """The line in one piece for people and JSON, cut after 500 characters."""
    one = re.sub(r"\s{1,80}", " ", text[: 4 * _SHOWN]).strip()
    return one if len(one) <= _SHOWN else one[: _SHOWN - 1] + "…"
