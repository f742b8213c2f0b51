"""US dollars for a million tokens."""

from math import isfinite


def usd_per_million_tokens(tokens_per_s_per_gpu: float, usd_per_instance_hour: float, gpus_per_instance: int) -> float:
    """US dollars for 1,000,000 tokens at this rate and price.

    Price an hour / GPUs an instance / 3600 / tokens/s/GPU x 10^6.
    Raises: ValueError if the rate, the price or the GPUs are not positive and finite.
    """
    for value in (tokens_per_s_per_gpu, usd_per_instance_hour, gpus_per_instance):
        if not (isfinite(value) and value > 0):
            raise ValueError(
                f"{tokens_per_s_per_gpu} tokens/s/GPU at {usd_per_instance_hour} $/h for {gpus_per_instance} GPUs: "
                "all must be positive"
            )
    return usd_per_instance_hour / gpus_per_instance / 3600 / tokens_per_s_per_gpu * 1e6
