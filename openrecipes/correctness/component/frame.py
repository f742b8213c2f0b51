"""The form of every component test: what is judged, what must fail, and what the report says.

No torch here: a report can be read and written where none is installed.
"""

import datetime
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from math import inf, isnan
from typing import Protocol

from openrecipes.correctness.component.subject import Subject


class Tier(StrEnum):
    """Whose code is under test. The last two are stand-ins of ours in PyTorch, and never evidence."""

    TRANSFORMER_ENGINE = "transformer-engine"
    MEGATRON_CORE = "megatron-core"
    FLASH_LINEAR_ATTENTION = "flash-linear-attention"
    TORCH_GPU = "torch-gpu"
    TORCH_CPU = "torch-cpu"

    @property
    def is_stand_in(self) -> bool:
        """Whether the code is ours rather than the training stack's."""
        return self in (Tier.TORCH_GPU, Tier.TORCH_CPU)

    @property
    def is_reduced(self) -> bool:
        """Whether shapes are cut down: only the CPU cannot hold the model's own."""
        return self is Tier.TORCH_CPU


@dataclass(frozen=True, kw_only=True, slots=True)
class Bench:
    """Where and with whose code a test runs."""

    tier: Tier
    device: str  # as PyTorch names it: "cuda" or "cpu"
    seed: int = 20261011

    @property
    def reduced(self) -> bool:
        """Whether shapes are cut down."""
        return self.tier.is_reduced


@dataclass(frozen=True, kw_only=True, slots=True)
class Judged:
    """One quantity held against its bound. For counts of wrong elements the bound is 0.

    `floor` is what exact code would show at this precision, where that is known; `elements` were compared, in
    `tensors` equal tensors of which the worst is given.
    """

    tensor: str
    setting: str  # under which conditions, as "3 steps at lr 1e-05"; may be empty
    check: str  # what was compared, as "update"
    error: float
    bound: float
    floor: float | None = None
    elements: int = 0
    tensors: int = 1

    @property
    def passed(self) -> bool:
        """Whether the error is within the bound. NaN is within no bound."""
        return self.error <= self.bound

    @property
    def ratio(self) -> float:
        """Error over bound, to find the worst; an exact check that fails is infinite."""
        if isnan(self.error):
            return inf
        return self.error / self.bound if self.bound > 0 else (0.0 if self.error <= 0 else inf)


@dataclass(frozen=True, kw_only=True, slots=True)
class Control:
    """A spoilt variant of the component, and the checks that caught it. One that nothing catches fails the test."""

    name: str
    spoilt: str
    caught_by: tuple[str, ...]

    @property
    def caught(self) -> bool:
        """Whether any check failed, as it must."""
        return bool(self.caught_by)


@dataclass(frozen=True, kw_only=True, slots=True)
class Findings:
    """What a component's examination found, before the frame adds where and when."""

    shape: str
    judged: tuple[Judged, ...]
    controls: tuple[Control, ...]


class Component(Protocol):
    """One component: what it is, whose code the training stack runs for it, and its examination."""

    @property
    def name(self) -> str:
        """The name on the command line."""

    @property
    def title(self) -> str:
        """What is tested, in words."""

    @property
    def reference(self) -> str:
        """What it is held against, in words."""

    @property
    def implementations(self) -> dict[Tier, str]:
        """The code under test of each tier there is, in words; the training stack's own first."""

    def examine(self, subject: Subject, bench: Bench) -> Findings:
        """Judges the component at the subject's shape, and its negative controls."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Circumstances:
    """Where and when a test ran, and what it took."""

    gpu: str
    date: datetime.date
    versions: dict[str, str]
    seconds: float
    peak_memory_bytes: int | None  # on the device, as PyTorch's allocator counts; None on the CPU


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """One finished component test."""

    component: str
    title: str
    reference: str
    implementation: str
    tier: Tier
    findings: Findings
    circumstances: Circumstances

    @property
    def passed(self) -> bool:
        """Whether every quantity is within its bound and every control was caught; an empty test never passes."""
        judged, controls = self.findings.judged, self.findings.controls
        sound = all(one.passed for one in judged) and all(control.caught for control in controls)
        return bool(judged) and bool(controls) and sound

    @property
    def uncaught(self) -> tuple[Control, ...]:
        """The controls that nothing caught."""
        return tuple(control for control in self.findings.controls if not control.caught)

    @property
    def evidence(self) -> bool:
        """Whether the result may stand in a recipe: the training stack's own code, at the model's own sizes."""
        return not self.tier.is_stand_in and not self.tier.is_reduced

    @property
    def why_evidence(self) -> str:
        """The reason for `evidence`, in words."""
        if self.evidence:
            return f"{self.implementation} is the training stack's own code, at the shape stated"
        reduced = " and the shape is reduced" if self.tier.is_reduced else ""
        return f"{self.implementation} is a stand-in{reduced}: it shows that the test works, not that the stack does"


def worst_of_each(judged: Iterable[Judged]) -> tuple[Judged, ...]:
    """One line for equal tensors, settings and checks: the worst, with the elements of all; counts are added."""
    groups: dict[tuple[str, str, str], list[Judged]] = {}
    for one in judged:
        groups.setdefault((one.tensor, one.setting, one.check), []).append(one)
    return tuple(_joined(group) for group in groups.values())


def _joined(group: list[Judged]) -> Judged:
    worst = max(group, key=lambda one: one.ratio)
    counts = worst.bound == 0
    return replace(
        worst,
        error=sum(one.error for one in group) if counts else worst.error,
        elements=sum(one.elements for one in group),
        tensors=sum(one.tensors for one in group),
    )


def control(
    name: str,
    spoilt: str,
    *,
    sound: Callable[[], Iterable[Judged]],
    spoilt_judged: Callable[[], Iterable[Judged]],
) -> Control:
    """The control's outcome: the checks that the spoilt variant fails, each once.

    Where the sound variant fails too, catching the spoilt one means nothing: then nothing counts as caught.
    """
    if not all(one.passed for one in sound()):
        return Control(name=name, spoilt=spoilt, caught_by=())
    failed = dict.fromkeys(one.check for one in spoilt_judged() if not one.passed)
    return Control(name=name, spoilt=spoilt, caught_by=tuple(failed))
