"""Spoilt Adams. Each must fail at least one check, or the checks prove nothing."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import torch
from torch import Tensor

from openrecipes.correctness.component.adam_arm import (
    AdamArm,
    AdamSettings,
    AdamState,
    MakeArm,
    Masters,
    joined,
    rebuilt,
)

# A control must be able to fail: a decay that moves the update by more than its bound, a rate far above rounding.
_VISIBLE_DECAY: Final = 1.0
_VISIBLE_RATE: Final = 1e-5


def _keep_settings(settings: AdamSettings) -> AdamSettings:
    return settings


def _keep_gradient(gradient: Tensor) -> Tensor:
    return gradient


def _keep_arm(_arm: AdamArm) -> None:
    return


def _keep_state(state: AdamState, _arm: AdamArm) -> AdamState:
    return state


@dataclass(frozen=True, kw_only=True, slots=True)
class AdamControl:
    """One mistake. `settings`, `gradient` and `masters` spoil the arm; the others what it keeps or shows.

    `base` is the sound setting that the mistake is made in; the reference follows it.
    """

    name: str
    spoilt: str
    base: Callable[[AdamSettings], AdamSettings] = _keep_settings
    settings: Callable[[AdamSettings], AdamSettings] = _keep_settings
    gradient: Callable[[Tensor], Tensor] = _keep_gradient
    masters: Masters = Masters.REMAINDER
    before_step: Callable[[AdamArm], None] = _keep_arm
    shown: Callable[[AdamState, AdamArm], AdamState] = _keep_state

    @property
    def with_explicit_masters(self) -> "AdamControl":
        """The same mistake in the arithmetic of an arm with explicit masters."""
        return replace(self, masters=Masters.EXPLICIT, before_step=_keep_arm, shown=_keep_state)


SOUND: Final = AdamControl(name="sound", spoilt="nothing")


class SpoiltArm:
    """An arm with a control's mistake in it."""

    def __init__(self, make: MakeArm, weight: Tensor, sound: AdamSettings, control: AdamControl) -> None:
        self._arm = make(weight, control.settings(sound), control.masters)
        self._control, self._started = control, False

    def step(self, gradient: Tensor) -> None:
        """One step of the spoilt arm."""
        if self._started:
            self._control.before_step(self._arm)
        self._arm.step(self._control.gradient(gradient))
        self._started = True

    def state(self) -> AdamState:
        """What the spoilt arm shows."""
        return self._control.shown(self._arm.state(), self._arm)


def _not_undone(arm: AdamArm) -> None:
    """Makes the next step read the weight as rounded: one unit more where rounding went up."""
    arm.weight.view(torch.int16).add_((arm.remainder < 0).to(torch.int16))


def _joined_as_rounded(state: AdamState, arm: AdamArm) -> AdamState:
    return replace(state, master=joined(arm.weight.view(torch.int16).to(torch.int32), arm.remainder))


def _truncated(state: AdamState, arm: AdamArm) -> AdamState:
    """The true masters, with their upper halves shown as the weight."""
    upper = (rebuilt(arm.weight, arm.remainder).view(torch.int32) >> 16).to(torch.int16)
    return replace(state, weight=upper.view(torch.bfloat16))


def _one_bit(state: AdamState, _arm: AdamArm) -> AdamState:
    bits = state.master.view(torch.int32).clone()
    bits.view(-1)[0] ^= 1
    return replace(state, master=bits.view(torch.float32))


def _one_moment_bit(state: AdamState, _arm: AdamArm) -> AdamState:
    bits = state.exp_avg_sq.clone().view(torch.int32)
    bits.view(-1)[0] ^= 1
    return replace(state, exp_avg_sq=bits.view(torch.float32))


def _one_nan(gradient: Tensor) -> Tensor:
    spoilt = gradient.clone()
    spoilt.view(-1)[0] = float("nan")
    return spoilt


def _other(value: float, first: float, second: float) -> float:
    return second if value == first else first


def controls(values: AdamSettings) -> Iterator[AdamControl]:
    """Every mistake, away from these values."""
    beta1, beta2 = _other(values.beta1, 0.95, 0.9), _other(values.beta2, 0.999, 0.98)
    change = _changed
    yield AdamControl(name="beta1", spoilt=f"beta1 {beta1:g} for {values.beta1:g}", settings=change(beta1=beta1))
    yield AdamControl(name="beta2", spoilt=f"beta2 {beta2:g} for {values.beta2:g}", settings=change(beta2=beta2))
    yield AdamControl(
        name="bias correction", spoilt="moments not corrected for their bias", settings=change(bias_correction=False)
    )
    yield AdamControl(name="step count", spoilt="the first step counted as the second", settings=change(first_step=2))
    decayed = change(weight_decay=_VISIBLE_DECAY)
    for name, decay in (("no weight decay", 0.0), ("weight decay", _VISIBLE_DECAY / 10)):
        spoilt = f"weight decay {decay:g} for {_VISIBLE_DECAY:g}"
        yield AdamControl(name=name, spoilt=spoilt, base=decayed, settings=change(weight_decay=decay))
    yield AdamControl(
        name="L2", spoilt="weight decay in the gradient, not decoupled", base=decayed, settings=change(decoupled=False)
    )
    yield AdamControl(
        name="eps", spoilt="eps a hundredfold", settings=lambda sound: replace(sound, eps=sound.eps * 100)
    )
    yield AdamControl(
        name="learning rate", spoilt="learning rate +1 %", settings=lambda sound: replace(sound, lr=sound.lr * 1.01)
    )
    yield AdamControl(name="gradient scale", spoilt="gradient doubled", gradient=lambda gradient: gradient * 2)
    yield AdamControl(name="NaN", spoilt="one NaN in the gradient", gradient=_one_nan)
    yield AdamControl(name="BF16 moments", spoilt="moments stored in BF16", settings=change(bf16_moments=True))
    yield AdamControl(name="masters dropped", spoilt="no masters: the BF16 weight is updated", masters=Masters.DROPPED)
    yield AdamControl(
        name="rounding kept",
        spoilt="the weight's rounding not undone before the remainder is joined to it",
        before_step=_not_undone,
        shown=_joined_as_rounded,
    )
    yield AdamControl(name="truncation", spoilt="BF16 weight truncated, masters right", shown=_truncated)
    yield AdamControl(name="one bit", spoilt="the last bit of one master flipped", shown=_one_bit)
    yield AdamControl(name="one moment bit", spoilt="the last bit of one second moment flipped", shown=_one_moment_bit)


def _changed(**values: Any) -> Callable[[AdamSettings], AdamSettings]:
    return lambda sound: replace(sound, **values)


def visible(values: AdamSettings) -> AdamSettings:
    """The values with a rate at which a mistake of 1 % can be told from rounding."""
    return replace(values, lr=max(values.lr, _VISIBLE_RATE))
