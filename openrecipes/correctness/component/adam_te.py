"""Transformer Engine's FusedAdam over one tensor, called as Megatron calls it. Written against version 2.10.

Its class: transformer_engine.pytorch.optimizers.FusedAdam. Parameters are BF16, gradients FP32 in `decoupled_grad`.
With store_param_remainders the state `master_param` is the int16 remainder. The step count is one a parameter group.
"""

import torch
from torch import Tensor
from transformer_engine.pytorch.optimizers import FusedAdam

from openrecipes.correctness.component.adam_arm import AdamSettings, AdamState, Masters, rebuilt


class TransformerEngineArm:
    """FusedAdam with one parameter."""

    def __init__(self, weight: Tensor, settings: AdamSettings, masters: Masters) -> None:
        self._parameter = torch.nn.Parameter(weight.clone())
        self._masters = masters
        moments = torch.bfloat16 if settings.bf16_moments else torch.float32
        self._optimizer = FusedAdam(
            [self._parameter],
            lr=settings.lr,
            betas=(settings.beta1, settings.beta2),
            eps=settings.eps,
            weight_decay=settings.weight_decay,
            bias_correction=settings.bias_correction,
            adam_w_mode=settings.decoupled,
            master_weights=masters is not Masters.DROPPED,
            exp_avg_dtype=moments,
            exp_avg_sq_dtype=moments,
            use_decoupled_grad=True,
            store_param_remainders=masters is Masters.REMAINDER,
        )
        if settings.first_step > 1:
            self._optimizer.param_groups[0]["step"] = settings.first_step - 1

    @property
    def weight(self) -> Tensor:
        """The BF16 parameter's storage."""
        return self._parameter.detach()

    @property
    def remainder(self) -> Tensor:
        """The int16 state beside it."""
        stored: Tensor = self._optimizer.state[self._parameter]["master_param"]
        if stored.dtype is not torch.int16:
            raise TypeError(f"FusedAdam kept {stored.dtype} masters, not an int16 remainder")
        return stored

    def step(self, gradient: Tensor) -> None:
        """One step of the optimizer."""
        self._parameter.decoupled_grad = gradient  # type: ignore[attr-defined,unused-ignore]
        self._optimizer.step()

    def state(self) -> AdamState:
        """What the optimizer holds for the parameter."""
        held = self._optimizer.state[self._parameter]
        return AdamState(
            weight=self.weight,
            master=self._master(),
            exp_avg=held["exp_avg"].float(),
            exp_avg_sq=held["exp_avg_sq"].float(),
            steps=int(self._optimizer.param_groups[0]["step"]),
        )

    def _master(self) -> Tensor:
        if self._masters is Masters.REMAINDER:
            return rebuilt(self.weight, self.remainder)
        if self._masters is Masters.DROPPED:
            return self.weight.float()
        explicit: Tensor = self._optimizer.state[self._parameter]["master_param"]
        return explicit
