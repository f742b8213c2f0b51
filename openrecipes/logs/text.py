"""Lines as the trainer wrote them, under what terminals, launchers and log collectors put around them."""

import re
from bisect import bisect_left
from datetime import UTC, datetime
from functools import lru_cache
from html import unescape

_ESCAPE = r"(?:\x1b|\x9b|\^\[|\\u001b|\\x1b|\\033|\\e|␛)"
_ANSI = re.compile(
    rf"{_ESCAPE}\[[0-9;:?]*[A-Za-z]"  # colours and cursor movement
    rf"|{_ESCAPE}\][^\x07\x1b]{{0,512}}(?:\x07|\x1b\\)"  # titles and links
    r"|\x9b[0-9;:?]*[A-Za-z]"
    r"|\[(?:[0-9]{1,3};)*[0-9]{1,3}m"  # colours whose escape character a web console dropped
    r"|\x1b[@-Z\\-_]|[\x00\x07\x08]"
)
_USUAL_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_CUT_ANSI = re.compile(r"\x1b(?:\[[0-9;]{0,16})?\Z")
_LOST_ESCAPE = re.compile(r"\[[0-9;]{1,11}m")
_ENTITY = re.compile(r"&(?:#39|quot|#34|amp|lt|gt);")
_JSON_ESCAPES = (("\\r", " "), ("\\n", " "), ("\\t", " "), ('\\"', '"'), ("\\/", "/"))

# What stands in front of a line, by kind; each is tried again until none matches.
_PREFIXES = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        ("docker", r'\s*\{"log":\s*"'),
        ("cri", r"\s*\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d) std(?:out|err) [FP] "),
        ("stamp", r"\s*\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z\s"),
        ("quote", r"\s*(?:> ?)+"),
        ("grep", r"\s*[\w./-]{1,200}\.(?:log|out|err|txt)[:-](?:\d+[:-])?"),
        ("kubectl", r"\s*\[(?:pod|container)/[^\]\s]+\]\s?"),
        ("compose", r"\s*(?![Ee]-\d)[A-Za-z][\w.-]{0,79}-\d+\s{1,20}\| "),
        ("torchx", r"\s*[\w.-]{1,80}/\d{1,6} "),
        ("ray", r"\s*\((?P<ray>[A-Za-z_]\w{0,80}(?:\([^)]{0,80}\))?,? ?pid=\d+(?:, ip=[\d.a-fA-F:]+)?)\)\s?"),
        ("ray", r"\s*\((?:raylet|autoscaler|gcs_server)[^)]{0,64}\)\s?"),
        ("mpirun", r"\s*\[(?P<mpirun>\d+,\d+)\]<std(?:out|err)>:\s?"),
        ("torchrun", r"\s*\[(?P<torchrun>(?:default|rank)\d+)\]:\s?"),
        ("srun", r"\s*(?P<srun>\d{1,6}): "),
        (
            "pdsh",
            # `jinja2.exceptions.UndefinedError: ` is no host.
            r"(?P<pdsh>(?!iteration|step|perf|rollout|epoch|[\w.]{0,60}(?:Error|Exception|Warning|NotFound|Exit): )"
            r"(?=[\w.-]{0,62}\d)[A-Za-z][\w.-]{0,62}): ",
        ),
        ("viewer", r"\s*(?:\[\d{1,9}\]\s|\d{1,9}[:|\t]\s?)"),
        ("clock", r"\s*\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\]?\s"),
    )
)
# Which of them a first character rules in; a letter or a digit may begin several.
_BY_FIRST = {
    "(": ("ray",),
    "{": ("docker",),
    ">": ("quote",),
    "[": ("kubectl", "mpirun", "torchrun", "viewer", "clock"),
}
_FOR_WORDS = ("cri", "stamp", "grep", "compose", "torchx", "srun", "pdsh", "viewer", "clock")
_TRIED = {first: tuple(pair for pair in _PREFIXES if pair[0] in kinds) for first, kinds in _BY_FIRST.items()}
_TRIED_FOR_WORDS = tuple(pair for pair in _PREFIXES if pair[0] in _FOR_WORDS)
_NUMBERED = re.compile(r"\d{1,9}:")
_LONG = 4096
_CLOCK = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[T ]{0,2}(\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?(?:(Z)|([+-])(\d\d):?(\d\d)(?!\d))?"
)


def decoded(line: bytes) -> str:
    """The line as text, without colours, cursor movement and the escapes of JSON-wrapping collectors."""
    text = line.decode("utf-8", errors="replace")
    if "\x1b" in text:
        text = _USUAL_ANSI.sub("", text)
        text = _CUT_ANSI.sub("", text) if "\x1b" in text[-20:] else text
    if _may_hold_ansi(text) or _LOST_ESCAPE.search(text):
        text = _ANSI.sub("", text)
    if "\\" in text:
        for escape, plain in _JSON_ESCAPES:
            text = text.replace(escape, plain)
    if "&" in text and _ENTITY.search(text):
        text = unescape(text)
    return text


def _may_hold_ansi(text: str) -> bool:
    if "\\" in text and ("\\u001b" in text or "\\x1b" in text or "\\033" in text or "\\e[" in text):
        return True
    if "\x1b" in text or "^[" in text or "\x00" in text or "\x07" in text or "\x08" in text:
        return True
    return not text.isascii() and ("\x9b" in text or "␛" in text)


def split_prefix(text: str) -> tuple[tuple[str, ...], str, str]:
    """The kinds of prefix in front of a line, who wrote it ("" if unsaid), and the rest of the line."""
    kinds: list[str] = []
    writer, position = "", 0
    for _ in range(8):
        first = text[position : position + 64].lstrip()[:1]
        for kind, pattern in _TRIED.get(first, _TRIED_FOR_WORDS):
            if match := pattern.match(text, position):
                kinds.append(kind)
                writer = match.group(kind) if match.re.groups and kind in match.re.groupindex else writer
                position = match.end()
                break
        else:
            break
        if kinds[-1] == "clock":
            break  # what follows a stamp is the program's own
    return tuple(kinds), writer, text[position:]


def continuation(text: str, lead: tuple[str, ...]) -> str:
    """The line without prefixes of the kinds that stood in front of the first line."""
    for kind in lead:
        if kind == "clock":
            continue
        for name, pattern in _PREFIXES:
            if name == kind and (match := pattern.match(text)):
                text = text[match.end() :]
                break
        else:
            # `1: x` may be a rank's label or a line number; the next line shows that it was a number.
            if kind == "srun" and (match := _NUMBERED.match(text)):
                text = text[match.end() :]
    return text


def clock_s(text: str, before: int | None = None) -> float | None:
    """Seconds of the last time stamp in the text up to `before`, counted as if the log's clock were UTC."""
    last = _last_stamp(text, len(text) if before is None else before)
    if last is None:
        return None
    year, month, day, hour, minute, second = (int(part) for part in last.groups()[:6])
    try:
        stamp = datetime(year, month, day, hour, minute, min(second, 59), tzinfo=UTC).timestamp()
    except ValueError:
        return None
    return stamp + (second == 60) + (float(f"0.{last.group(7)}") if last.group(7) else 0.0) - _offset_s(last)


def _last_stamp(text: str, before: int) -> re.Match[str] | None:
    if len(text) < _LONG:
        stamps = list(_CLOCK.finditer(text, 0, before))
        return stamps[-1] if stamps else None
    # A line of thousands of records is asked for the stamp of each of them.
    known = _stamps(text)
    index = bisect_left(known, before, key=re.Match.start)
    cut = _CLOCK.match(text, known[index - 1].start(), before) if index else None
    return cut or (known[index - 2] if index > 1 else None)


@lru_cache(maxsize=2)
def _stamps(text: str) -> tuple[re.Match[str], ...]:
    return tuple(_CLOCK.finditer(text))


def _offset_s(stamp: re.Match[str]) -> float:
    if stamp.group(9) is None:
        return 0.0
    return (1 if stamp.group(9) == "+" else -1) * (int(stamp.group(10)) * 3600.0 + int(stamp.group(11)) * 60.0)
