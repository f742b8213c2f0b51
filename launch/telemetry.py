"""Clocks, power, temperature and throttle reasons of this node's GPUs, sampled until the job ends.

    python telemetry.py RUN_DIR/telemetry [--interval 5] [--max-bytes 67108864] [--parent PID]

Writes RUN_DIR/telemetry/HOST.jsonl: one header, one line a sample, one last line that says why it ended. It ends on
TERM, INT and HUP, when the process PARENT (by default the one that started it) is gone, and at the largest size. It
asks nvidia-smi and sets nothing; where that is missing or fails, the file says so, and the job is not disturbed.
The standard library only, Python 3.10 or newer, one file.
"""

import argparse
import json
import math
import os
import platform
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, TextIO

# Our names, and nvidia-smi's. Throttle reasons by their older name, which drivers old and new accept.
FIELDS = {
    "index": "index",
    "sm_clock_mhz": "clocks.sm",
    "memory_clock_mhz": "clocks.mem",
    "power_w": "power.draw",
    "temperature_c": "temperature.gpu",
    "memory_temperature_c": "temperature.memory",
    "memory_used_mib": "memory.used",
    "utilisation_percent": "utilization.gpu",
    "throttle_reasons": "clocks_throttle_reasons.active",
}
ENDED_BY_SIZE = "largest size reached"


def number(text: str) -> float | int | None:
    """The number in a cell of nvidia-smi's table, bit masks (`0x4`) too; None for `[N/A]`."""
    text = text.strip()
    try:
        value = int(text, 16) if text.lower().startswith("0x") else float(text)
    except ValueError:
        return None
    if not math.isfinite(value):
        return None
    return int(value) if value == int(value) else value


def sample(timeout_s: float) -> dict[str, Any]:
    """One line of the file: the time, and a row of numbers for each GPU; or the time and an error."""
    command = ["nvidia-smi", f"--query-gpu={','.join(FIELDS.values())}", "--format=csv,noheader,nounits"]
    asked = time.time()
    try:
        ran = subprocess.run(
            command, capture_output=True, text=True, timeout=timeout_s, check=False, stdin=subprocess.DEVNULL
        )
    except FileNotFoundError:
        return {"unix_s": asked, "error": "nvidia-smi is not installed"}
    except (OSError, subprocess.TimeoutExpired) as error:
        return {"unix_s": asked, "error": str(error)[:300]}
    # Between asking and the answer: nvidia-smi reads the sensors somewhere in between.
    when = round((asked + time.time()) / 2, 3)
    if ran.returncode != 0:
        words = " ".join((ran.stderr or ran.stdout).split())[:300]
        return {"unix_s": when, "error": f"nvidia-smi ended with {ran.returncode}: {words}"}
    rows = [line.split(",") for line in ran.stdout.splitlines()]
    return {"unix_s": when, "gpus": [[number(cell) for cell in row] for row in rows if len(row) == len(FIELDS)]}


class Journal:
    """The file, never larger than so many bytes."""

    def __init__(self, out: TextIO, max_bytes: int) -> None:
        self._out = out
        self._left = max_bytes - 256  # the last line always has room
        self._last_error: str | None = None

    def write(self, line: dict[str, Any]) -> bool:
        """Appends one line; False, and nothing written, where it has no room. A repeated error is written once."""
        error = line.get("error")
        if error is not None and error == self._last_error:
            return True
        text = json.dumps(line, separators=(",", ":")) + "\n"
        if len(text) > self._left:
            return False
        self._last_error = error
        self._left -= len(text)
        self._put(text)
        return True

    def close(self, why: str) -> None:
        """The last line."""
        self._put(json.dumps({"unix_s": round(time.time(), 3), "ended": why}, separators=(",", ":")) + "\n")

    def _put(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()


def is_there(pid: int) -> bool:
    """Whether the process still exists; a child of somebody else that waits to be reaped does not count."""
    try:
        state = re.search(r"\) (\S)", Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return False
    return state is not None and state[1] not in "ZX"


def watch(journal: Journal, interval_s: float, parent: int, stopped: threading.Event) -> str:
    """Samples until something ends it; returns what did."""
    due = time.monotonic()
    while True:
        if not journal.write(sample(timeout_s=max(10.0, interval_s))):
            return ENDED_BY_SIZE
        # On a fixed beat, and never two at once where nvidia-smi is slow.
        due = max(due + interval_s, time.monotonic())
        while time.monotonic() < due:
            if stopped.wait(min(1.0, max(0.0, due - time.monotonic()))):
                return "signal"
            if not is_there(parent):
                return "parent ended"


def main() -> int:
    """Samples into one file of this host."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder of the files, one a node")
    parser.add_argument("--interval", type=float, default=5.0, help="seconds between samples")
    parser.add_argument("--max-bytes", type=int, default=64 * 2**20, help="largest size of the file")
    parser.add_argument("--parent", type=int, default=os.getppid(), help="process to end with")
    args = parser.parse_args()
    if not 0.05 <= args.interval <= 3600 or args.max_bytes < 4096:
        parser.error("--interval is 0.05 to 3600 s, --max-bytes at least 4096")
    stopped = threading.Event()
    for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(name, lambda *_: stopped.set())
    host = re.sub(r"[^A-Za-z0-9._-]", "_", platform.node()) or "node"
    args.folder.mkdir(parents=True, exist_ok=True)
    with (args.folder / f"{host}.jsonl").open("x", encoding="utf-8") as out:
        journal = Journal(out, args.max_bytes)
        header = {"schema_version": 1, "host": host, "interval_s": args.interval, "fields": list(FIELDS)}
        journal.write({**header, "unix_s": round(time.time(), 3)})
        journal.close(watch(journal, args.interval, args.parent, stopped))
    return 0


if __name__ == "__main__":
    sys.exit(main())
