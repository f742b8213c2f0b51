"""What the preflight's programs share: asking a program, reading a file, outcomes and checks. See preflight.py."""

import contextlib
import subprocess
from pathlib import Path
from typing import Any

# A GPU so far below the median, of its node's GPUs or of all nodes', is not what they are.
LEAST_OF_MEDIAN = 0.9

Outcome = tuple[str, Any, str]  # status (ok, warn, fail, skipped), value, why


def output_of(*command: str, timeout_s: float = 30) -> tuple[str, str | None]:
    """What a program prints, and why it failed (None where it did not)."""
    try:
        ran = subprocess.run(
            command, capture_output=True, text=True, timeout=timeout_s, check=False, stdin=subprocess.DEVNULL
        )
    except FileNotFoundError:
        return "", f"{command[0]} is not installed"
    except (OSError, subprocess.TimeoutExpired) as error:
        return "", str(error)[:300]
    words = " ".join((ran.stderr or ran.stdout).split())[-200:]
    return ran.stdout, None if ran.returncode == 0 else f"{command[0]} ended with {ran.returncode}: {words}"


def read(path: str) -> str | None:
    """A small text file, stripped; None where it cannot be read."""
    with contextlib.suppress(OSError):
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    return None


def judged(value: Any, wrong: list[str], *, status: str = "fail") -> Outcome:
    """ok, or `status` with what is wrong."""
    return (status, value, "; ".join(wrong)) if wrong else ("ok", value, "")


def check(name: str, value: Any, wrong: list[str]) -> dict[str, Any]:
    """A check as a report holds it: ok, or a failure with what is wrong."""
    status, _, why = judged(value, wrong)
    return {"name": name, "status": status, "value": value, "why": why}
