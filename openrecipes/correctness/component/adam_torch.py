"""Adam with masters as BF16 weight plus remainder, in PyTorch: the stand-in where Transformer Engine is not."""

import torch
from torch import Tensor

from openrecipes.correctness.component.adam_arm import AdamSettings, AdamState, Masters, rebuilt, split


class TorchArm:
    """Adam over one tensor in FP32 operations, in the order of Transformer Engine's kernel."""

    def __init__(self, weight: Tensor, settings: AdamSettings, masters: Masters) -> None:
        self.weight = weight.clone()
        self.remainder = torch.zeros_like(weight, dtype=torch.int16)
        self._settings, self._masters = settings, masters
        self._explicit = weight.float() if masters is Masters.EXPLICIT else None
        moment = torch.bfloat16 if settings.bf16_moments else torch.float32
        self._exp_avg = torch.zeros_like(weight, dtype=moment)
        self._exp_avg_sq = torch.zeros_like(weight, dtype=moment)
        self._steps = settings.first_step - 1

    def step(self, gradient: Tensor) -> None:
        """One update, stored in the form that the masters have."""
        master, exp_avg, exp_avg_sq = _updated(self.state(), gradient, self._settings)
        self._steps += 1
        self._exp_avg.copy_(exp_avg)
        self._exp_avg_sq.copy_(exp_avg_sq)
        if self._masters is Masters.REMAINDER:
            weight, remainder = split(master)
            self.weight.copy_(weight)
            self.remainder.copy_(remainder)
        else:
            self.weight.copy_(master)  # a cast: ties to even
        if self._explicit is not None:
            self._explicit.copy_(master)

    def state(self) -> AdamState:
        """Weight, rebuilt or explicit master, moments."""
        return AdamState(
            weight=self.weight,
            master=self._master(),
            exp_avg=self._exp_avg.float(),
            exp_avg_sq=self._exp_avg_sq.float(),
            steps=self._steps,
        )

    def _master(self) -> Tensor:
        if self._masters is Masters.REMAINDER:
            return rebuilt(self.weight, self.remainder)
        return self.weight.float() if self._explicit is None else self._explicit


def _updated(held: AdamState, gradient: Tensor, values: AdamSettings) -> tuple[Tensor, Tensor, Tensor]:
    """Master and both moments after one more step; scalars are FP32, the powers of the betas taken in double."""
    beta1, beta2, step, master = _fp32(values.beta1), _fp32(values.beta2), held.steps + 1, held.master
    first, second = (_fp32(1 - beta1**step), _fp32(1 - beta2**step)) if values.bias_correction else (1.0, 1.0)
    if not values.decoupled:
        gradient = gradient + values.weight_decay * master
    exp_avg = beta1 * held.exp_avg + _fp32(1 - beta1) * gradient
    exp_avg_sq = beta2 * held.exp_avg_sq + _fp32(1 - beta2) * gradient * gradient
    update = (exp_avg / first) / ((exp_avg_sq / second).sqrt() + values.eps)
    if values.decoupled:
        update = update + values.weight_decay * master
    return master - values.lr * update, exp_avg, exp_avg_sq


def _fp32(value: float) -> float:
    return float(torch.tensor(value, dtype=torch.float32))
