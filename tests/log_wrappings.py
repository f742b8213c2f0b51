"""What stands between a trainer and the log that a person has: prefixes, colours, wraps, noise. For `tests/logs`."""

import re
from collections.abc import Callable

from hypothesis import strategies as st

NOISE = (
    b"",
    b"...",
    b"time (ms)",
    b"Killing subprocess 7949",
    b"(raylet) Spilled 2048 MiB, 3 objects",
    b"[Rank 7] (after 20 iterations) memory (MB) | allocated: 21633.08 | max allocated: 24432.0",
    b"step 3 of the tutorial: read the log",
    b"saving checkpoint at iteration      30 to /ckpt in torch_dist format",
    b" validation loss at iteration 30 | lm loss value: 9.941200E+00 | lm loss PPL: 2.076831E+04 | ",
    b"(RolloutManager pid=9) [2026-11-30 02:38:24] rollout.py:1303 - perf 7: "
    b"{'rollout/response_len/mean': 5494.0, 'perf/rollout_time': 0.25}",
    b"(Actor pid=8) [Rank 0] Memory-Usage after x: {'gpu': '0', 'free_GB': 61.02}"
    b"\x1b[32m [repeated 6x across cluster]\x1b[0m",
    b"\ractor train:  67%|\xe2\x96\x88\xe2\x96\x88   | 2/3 [00:00<00:00,  6.65microbatch/s]",
    b"perf: slow; step: pending; iteration: none",
    b"\x00\x00\x00\x00",
    b"\xff\xfe not utf-8 \x80",
)
noise = st.lists(st.sampled_from(NOISE), max_size=4)

Wrapping = Callable[[list[bytes]], list[bytes]]


def _each(change: Callable[[int, bytes], bytes]) -> Wrapping:
    return lambda lines: [change(number, line) for number, line in enumerate(lines, 1)]


WRAPPINGS: dict[str, Wrapping] = {
    "plain": lambda lines: lines,
    "colour": _each(lambda _, line: b"\x1b[36m(Actor pid=42)\x1b[0m " + line),
    "caret": _each(lambda _, line: b"^[[36m(Actor pid=42, ip=10.0.0.7)^[[0m " + line),
    "escape lost": _each(lambda _, line: b"[36m(Actor pid=42)[0m " + line),
    "srun": _each(lambda _, line: b"  3: " + line),
    "mpirun": _each(lambda _, line: b"[1,0]<stdout>:" + line),
    "grep": _each(lambda number, line: b"%d:" % number + line),
    "grep file": _each(lambda number, line: b"logs/train.log:%d:" % number + line),
    "torchrun": _each(lambda _, line: b"[default7]:" + line),
    "quote": _each(lambda _, line: b"> " + line),
    "kubectl": _each(lambda _, line: b"[pod/train-0/trainer] " + line),
    "cri": _each(lambda _, line: b"2026-11-30T02:38:24.123456789Z stderr F " + line),
    "stamp": _each(lambda _, line: b"2026-11-30T02:38:24.123456789Z " + line),
    "torchx": _each(lambda _, line: b"pretrain_fp8/0 " + line),
    "docker": _each(lambda _, line: b'{"log":"' + line.replace(b'"', b'\\"') + b'\\n","stream":"stderr"}'),
    "console": lambda lines: [
        piece for line in lines for piece in (b"2025-12-21 09:02:10", b"", b"pod-1\xe2\x80\xa6x", line)
    ],
    "crlf": _each(lambda _, line: line + b"\r"),
    "bar": _each(lambda _, line: b"\ractor train: 100%|\xe2\x96\x88| 3/3 [00:00<00:00,  6.42microbatch/s]" + line),
    "repeated": _each(
        lambda _, line: line + b"\x1b[32m [repeated 7x across cluster] (Ray deduplicates logs by default.)\x1b[0m"
    ),
    "glued": _each(lambda _, line: line + b"Number of parameters in billions:  6.98"),
}


def folded(text: bytes, width: int) -> bytes:
    """The text as a terminal of this width shows it: hard wraps inside words and numbers."""
    return b"\n".join(b"\n".join(re.findall(rb".{1,%d}" % width, line, re.DOTALL)) or b"" for line in text.split(b"\n"))
