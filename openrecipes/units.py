"""Numbers to text, and to the digits that recipes publish. One function a figure; nothing else rounds."""

import math


def tokens_per_s_per_gpu(value: float) -> float:
    """Tokens a second a GPU as published: two decimals."""
    return round(value, 2)


def usd_per_million_tokens(value: float) -> float:
    """US dollars for 1,000,000 tokens as published: two decimals."""
    return round(value, 2)


def step_time_cv_percent(value: float) -> float:
    """Coefficient of variation of the step times in percent as published: two decimals."""
    return round(value, 2)


def mfu(value: float) -> float:
    """Model FLOPs utilisation, a fraction, as published: four decimals."""
    return round(value, 4)


def gpu_hours(value: float) -> float:
    """GPU-hours as published: two decimals."""
    return round(value, 2)


def thousands(value: float) -> str:
    """A count for people: `16,331,407,360`."""
    return f"{value:,.0f}"


def counted(number: int, word: str) -> str:
    """A number of things for people: `1 step`, `1,204 steps`."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def percent(fraction: float, digits: int = 1) -> str:
    """A fraction for people: 0.054 is `5.4%`."""
    return f"{100 * fraction:.{digits}f}%"


def change(percent: float, digits: int = 1) -> str:
    """A change in percent for people, signed: `+5.4 %`; one that rounds to nothing is `+0.0 %`, whatever its sign."""
    return f"{percent:+z.{digits}f} %"


def seconds(value: float) -> str:
    """A duration for people: `0.42 s`, `15.0 s`, `4 min 05 s`, `2 h 03 min`."""
    if value < 10:
        return f"{value:.2f} s"
    if value < 120:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    if minutes < 120:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def size(value: float) -> str:
    """A number of bytes for people, in binary units: `72.6 MiB`."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(value) < 1024 or unit == "GiB":
            return f"{value:.0f} B" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    raise AssertionError("unreachable")


def on_a_command_line(value: float) -> str:
    """A number as people write it on a command line, and argparse reads it back: `2e-5`, `0.1`, `10000000`."""
    mantissa, _, exponent = repr(value).partition("e")
    return f"{mantissa}e{int(exponent)}" if exponent else mantissa


def correlation(value: float) -> float:
    """A correlation as published: five decimals, or six where five of them are nines; cut, so that none becomes 1."""
    if not math.isfinite(value) or value in (1.0, -1.0):
        return value
    five, six = int(value * 1e5) / 1e5, int(value * 1e6) / 1e6
    return six if six >= 0.999999 else five


def loss_difference(value: float) -> float:
    """A relative difference of losses as published: two digits, `8.4e-05`."""
    return float(f"{value:.1e}")
