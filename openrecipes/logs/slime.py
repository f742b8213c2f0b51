"""Steps of slime and miles logs, all releases: `step N: {…}` and the training kind of `perf N: {…}`."""

import re
from collections.abc import Iterable, Mapping

from openrecipes.logs.printed_values import Printed, mapping, number
from openrecipes.logs.reader import Finding, Part, Reader, Seen, Spot, signs
from openrecipes.logs.slime_rollouts import Rollouts
from openrecipes.logs.step import StepRecord
from openrecipes.problems import Problem

# A record that someone quotes stands behind a quotation mark; one that a collector packs, behind `:"`.
_START = re.compile(
    r"(step|perf)(?:(?<![\"'`]\w{4})|(?<=:\"\w{4})|(?<=: \"\w{4}))\s{0,9}(\d{1,24})\s{0,9}:\s{0,9}(?=\{|\[repeated|\Z)"
)
_QUOTED = re.compile(r"[\"'`](?:step|perf)\s{0,9}\d{1,24}\s{0,9}:\s{0,9}\{")
_KEY = re.compile(r"""['"](?:perf|train)/[^'"\s]{0,80}(?:['"]\s*:|\Z)""")
_PAIR = re.compile(r"""['"]((?:perf|train)/[^'"]{1,80})['"]\s*:\s*([^,}]{1,80})""")
_TELLING = ("perf/step_time", "perf/train_time", "train/loss", "train/grad_norm")
_TIMED = ("perf/step_time", "perf/total_train_time", "perf/actor_train_time", "perf/train_time")


class SlimeReader(Reader):
    """Reads slime's records; a `step` and a `perf` are one step by their own numbers, never by position."""

    name = "slime"
    closing = "}"
    needles = (b"perf/", b"train/", b": [repeated ")
    sure_needles = (b"perf/step_time", b"train/loss")
    sure_pattern = re.compile(rb"\{'(?:perf|train)/")
    wrapped_pattern = re.compile(rb"'(?:perf|train)/")
    telling = signs(
        rb"(?:step|perf)\s{0,9}\d{1,24}\s{0,9}:\s{0,9}(?:\{|\[repeated|[\r\n]|\Z)",
        rb"['\"](?:perf|train)/[^'\"\s]{0,80}(?:['\"]\s*:|[\r\n]|\Z)",
    )

    def __init__(self) -> None:
        self.arguments: Mapping[str, str] = {}
        self.problems: list[Problem] = []
        self._seen = Seen()
        self._rollouts = Rollouts()
        self._pairs: set[int] = set()

    def find(self, text: str) -> Finding:
        """Both kinds of record wherever they stand in the text, and a training dict without a number in front."""
        parts: list[Part] = []
        broken: list[Part] = []
        start = _START.search(text)
        while start:
            follower = _START.search(text, start.end())
            part, read = _record(text, start, follower.start() if follower else len(text))
            if read.end is not None:
                parts.append(part)
            elif read.unfinished and follower is None:
                sure = part.kind != "other"
                return Finding(parts=tuple(parts), open_at=start.start(), open_is_sure=sure, broken=tuple(broken))
            elif part.kind != "other":
                broken.append(part)
            start = _START.search(text, part.end) if follower and follower.start() < part.end else follower
        key = None if parts or broken else _KEY.search(text)
        if key and not _QUOTED.search(text, 0, key.start()):
            bare = _without_number(text, key.start())
            return Finding(parts=(bare,) if bare else (), fragment=True)
        return Finding(parts=tuple(parts), broken=tuple(broken))

    def take(self, part: Part, spot: Spot) -> Iterable[StepRecord]:
        """Steps complete with this record: a `step` waits for its `perf`."""
        if part.kind == "other" or self._seen.is_copy(part, spot.timestamp_s):
            return
        self._pairs.update(hash((key, part.values[key])) for key in _TELLING if key in part.values)
        if part.kind == "step":
            yield from self._rollouts.trained(part, spot)
        else:
            yield from self._rollouts.timed(part, spot, self.arguments)

    def knows(self, text: str) -> bool:
        """Whether a time or loss in this tail was read before."""
        pairs = ((key, number(value)) for key, value in _PAIR.findall(text))
        return any(hash(pair) in self._pairs for pair in pairs)

    def finish(self) -> Iterable[StepRecord]:
        """Steps whose timing never came, or came for the first time with several steps before it."""
        yield from self._rollouts.flush()


def _record(text: str, start: re.Match[str], stop: int) -> tuple[Part, Printed]:
    """The record at a start, of kind "other" where it is no training record, and how its mapping reads."""
    index = start.group(2)
    if text[start.end() : start.end() + 1] == "{":
        closed = text.find("}", start.end(), stop) >= 0
        read = mapping(text, start.end(), stop) if closed else _begun(text[start.end() : stop])
    else:
        read = Printed({}, None, unfinished=start.end() >= len(text))
    # `critic-step 3: {…}` is another model's record.
    prefixed = (
        text[max(start.start() - 1, 0) : start.start()] == "-" and text[start.start() - 2 : start.start() - 1].isalpha()
    )
    kind = _kind(start.group(1), read) if len(index) < 20 and not prefixed else "other"
    end = start.end() if read.end is None else read.end
    return Part(kind=kind, index=int(index), values=read.values, start=start.start(), end=end), read


def _begun(text: str) -> Printed:
    """A mapping without an end in sight; only what tells its kind is looked at."""
    return Printed({"rollout/": ""} if "rollout/" in text else {}, None, unfinished=True)


def _kind(word: str, read: Printed) -> str:
    if read.end is None:
        data = any(key.startswith("rollout/") for key in read.values)
        return word if word in ("step", "perf") and not data else "other"
    if word == "step" and any(key.startswith("train/") for key in read.values):
        return "step"
    return "perf" if word == "perf" and any(key in read.values for key in _TIMED) else "other"


def _without_number(text: str, key_at: int) -> Part | None:
    """A training dict that stands alone, as some forks print it; its number is its own `train/step`, if any."""
    brace = text.rfind("{", max(0, key_at - 4), key_at)
    if brace < 0:
        return None
    read = mapping(text, brace)
    if read.end is None:
        return None
    kind = "perf" if any(key in read.values for key in _TIMED[:2]) else "step" if "train/loss" in read.values else None
    own = read.values.get("train/step")
    index = int(own) if isinstance(own, float) and own.is_integer() and own < 1e18 else None
    if kind is None or (kind == "step" and index is None):
        return None
    return Part(kind=kind, index=index, values=read.values, start=brace, end=read.end)
