"""What the GPUs did while a window was scored: clocks, power, temperature, and how much they were throttled.

`launch/telemetry.py` writes one file a node into the run directory; here they become one line a GPU.
"""

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

# The NVML bits of `clocks_throttle_reasons.active`.
REASONS: Final = {
    0x1: "gpu_idle",
    0x2: "applications_clocks_setting",
    0x4: "sw_power_cap",
    0x8: "hw_slowdown",
    0x10: "sync_boost",
    0x20: "sw_thermal_slowdown",
    0x40: "hw_thermal_slowdown",
    0x80: "hw_power_brake_slowdown",
    0x100: "display_clock_setting",
}
# What slows a healthy GPU never: heat, and the hardware's own brakes. The power cap alone is normal at full load.
THROTTLING: Final = 0x8 | 0x20 | 0x40 | 0x80

MAX_FILE_BYTES: Final = 256 * 2**20
MAX_LINE_CHARACTERS: Final = 2**20
MAX_NODES: Final = 4096


@dataclass(frozen=True, kw_only=True, slots=True)
class Spread:
    """Mean, least and largest of a reading; None where no sample has it."""

    mean: float | None
    min: float | None
    max: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class GpuTelemetry:
    """One GPU within the window. Shares are fractions of its samples."""

    host: str
    index: int
    samples: int
    sm_clock_mhz: Spread
    memory_clock_mhz: Spread
    power_w: Spread
    temperature_c: Spread
    memory_temperature_c: Spread
    memory_used_mib: Spread
    utilisation_percent: Spread
    throttle_share: float | None
    reason_shares: dict[str, float]


@dataclass(frozen=True, kw_only=True, slots=True)
class Telemetry:
    """All GPUs of a run within [start, end], by host and index; `notes` say what is missing or was not readable."""

    start_unix_s: float
    end_unix_s: float
    gpus: tuple[GpuTelemetry, ...]
    notes: tuple[str, ...]

    @property
    def throttled(self) -> tuple[GpuTelemetry, ...]:
        """The GPUs that heat or the hardware slowed in any sample."""
        return tuple(gpu for gpu in self.gpus if gpu.throttle_share)

    def document(self) -> dict[str, Any]:
        """The same as plain data, for JSON."""
        return asdict(self)


_SPREADS: Final = (
    "sm_clock_mhz",
    "memory_clock_mhz",
    "power_w",
    "temperature_c",
    "memory_temperature_c",
    "memory_used_mib",
    "utilisation_percent",
)


def telemetry(folder: Path, start_unix_s: float, end_unix_s: float) -> Telemetry:
    """Every GPU's readings whose time lies within [start, end], both counted. Unit: seconds since 1970, UTC.

    A file that is cut off or holds foreign lines gives what can be read of it, and a note.
    """
    gpus: list[GpuTelemetry] = []
    notes: list[str] = []
    files = _files(folder)
    if not files:
        notes.append(f"no telemetry in {folder}")
    for path in files:
        found = _Node(path.stem)
        for line in _lines(path, found):
            found.take(line, start_unix_s, end_unix_s)
        gpus.extend(found.gpus())
        notes.extend(f"{path.name}: {note}" for note in found.notes())
    return Telemetry(start_unix_s=start_unix_s, end_unix_s=end_unix_s, gpus=tuple(gpus), notes=tuple(notes))


def _files(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.glob("*.jsonl") if path.is_file())[:MAX_NODES]
    except OSError:
        return []


class _Node:
    """One node's file, as it is read: its header first, then sample by sample."""

    def __init__(self, host: str) -> None:
        self.host = host
        self.fields: tuple[str, ...] = ()
        self.foreign = 0
        self.cut_off = False
        self._samples: dict[int, list[dict[str, float | None]]] = {}
        self._errors: list[str] = []
        self._has_ended = False

    def take(self, line: dict[str, Any], start: float, end: float) -> None:
        """One line of the file."""
        when = line.get("unix_s")
        if "fields" in line and not self.fields:
            self.fields = tuple(str(name) for name in line["fields"]) if isinstance(line["fields"], list) else ()
        elif "ended" in line:
            self._has_ended = True
        elif isinstance(line.get("error"), str):
            if isinstance(when, int | float) and when <= end and line["error"] not in self._errors[:20]:
                self._errors.append(line["error"][:300])
        elif isinstance(line.get("gpus"), list) and isinstance(when, int | float) and self.fields:
            if start <= when <= end:
                self._take_rows(line["gpus"])
        else:
            self.foreign += 1

    def _take_rows(self, rows: list[Any]) -> None:
        for row in rows:
            if not isinstance(row, list) or len(row) != len(self.fields):
                self.foreign += 1
                continue
            values = {name: _finite(value) for name, value in zip(self.fields, row, strict=True)}
            index = values.get("index")
            if index is None or not 0 <= index < 1024:
                self.foreign += 1
                continue
            self._samples.setdefault(int(index), []).append(values)

    def gpus(self) -> Iterator[GpuTelemetry]:
        """One a GPU, by its index."""
        for index in sorted(self._samples):
            samples = self._samples[index]
            masks = [int(value) for value in _known(samples, "throttle_reasons")]
            yield GpuTelemetry(
                host=self.host,
                index=index,
                samples=len(samples),
                **{name: _spread(_known(samples, name)) for name in _SPREADS},
                throttle_share=_share(masks, THROTTLING),
                reason_shares={
                    name: share for bit, name in REASONS.items() if (share := _share(masks, bit)) is not None and share
                },
            )

    def notes(self) -> Iterator[str]:
        """What a reader must know of the file."""
        if not self.fields:
            yield "it has no header"
        elif not self._samples:
            yield "no sample lies in the window"
        if self.foreign:
            yield f"{self.foreign} lines or rows are not telemetry"
        if self.cut_off:
            yield f"only its first {MAX_FILE_BYTES} bytes were read"
        elif not self._has_ended:
            yield "it ends without its last line: the node or the sampler was killed"
        yield from self._errors


def _lines(path: Path, node: _Node) -> Iterator[dict[str, Any]]:
    """The file's lines that are JSON objects; the others are counted as foreign."""
    left = MAX_FILE_BYTES
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            while text := file.readline(MAX_LINE_CHARACTERS):
                left -= len(text)
                if left < 0:
                    node.cut_off = True
                    return
                try:
                    line = json.loads(text)
                except (ValueError, RecursionError):
                    line = None
                if isinstance(line, dict):
                    yield line
                elif text.strip():
                    node.foreign += 1
    except OSError:
        node.foreign += 1


def _finite(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and abs(value) < 1e15 and math.isfinite(value) else None


def _known(samples: Iterable[dict[str, float | None]], name: str) -> list[float]:
    return [value for sample in samples if (value := sample.get(name)) is not None]


def _spread(values: list[float]) -> Spread:
    if not values:
        return Spread(mean=None, min=None, max=None)
    return Spread(mean=math.fsum(values) / len(values), min=min(values), max=max(values))


def _share(masks: list[int], bits: int) -> float | None:
    return sum(1 for mask in masks if mask & bits) / len(masks) if masks else None
