"""Model FLOPs utilisation."""

from math import isfinite
from typing import Final

FORMULA_ID: Final = "6N/1"
FLOPS_PER_PARAM_PER_TOKEN: Final = 6


def mfu(tokens_per_s_per_gpu: float, active_params: int, peak_flops_per_s: float) -> float:
    """Model FLOPs utilisation, a fraction of the GPU's dense BF16 peak.

    Formula 6N/1: 6 FLOPs a parameter a token (forward 2, backward 4), over the parameters that one token
    uses. Attention scores and recomputation are left out, so figures compare across layouts.
    Source: Kaplan et al. 2020, section 2.1; the peak comes from catalog/gpus.yaml.
    Raises: ValueError if an argument is not positive and finite.
    """
    for value in (tokens_per_s_per_gpu, active_params, peak_flops_per_s):
        if not (isfinite(value) and value > 0):
            raise ValueError(
                f"MFU of {tokens_per_s_per_gpu}, {active_params}, {peak_flops_per_s}: all must be positive"
            )
    return FLOPS_PER_PARAM_PER_TOKEN * active_params * tokens_per_s_per_gpu / peak_flops_per_s
