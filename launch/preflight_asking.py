"""What the preflight's checks share: asking a program, reading a small file, an outcome. See preflight.py."""

import contextlib
import subprocess
from pathlib import Path
from typing import Any

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
