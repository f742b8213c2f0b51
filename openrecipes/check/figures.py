"""Rules over the result: stored figures against those recomputed from the recipe and the catalogue."""

from collections.abc import Callable, Iterator

from openrecipes import units
from openrecipes.catalog.prices import Price, default_price
from openrecipes.check.rule import Finding, Section, rule
from openrecipes.check.subject import Subject
from openrecipes.figures.cost import usd_per_million_tokens
from openrecipes.figures.gpu_hours import window_gpu_hours
from openrecipes.figures.mfu import mfu
from openrecipes.figures.throughput import window_tokens
from openrecipes.figures.window import DEFAULT_RULE, RULES, explicit_rule, rule_of, skip_quarter
from openrecipes.problems import nearest

# tokens_per_s_per_gpu is stored to two decimals; figures derived from it may lie half a digit to each side.
_HALF_A_DIGIT = 0.005


@rule("figure-window", Section.FIGURES, "the window lies inside the run and leaves out step 0.")
def window(subject: Subject) -> Iterator[Finding]:
    """A window over steps that the run has not, or over the first one."""
    (first, last), steps = subject.recipe.result.window, subject.recipe.result.steps_per_run
    where = f"the window {first}..{last}"
    if first > last:
        what = f"{where} ends before it starts"
    elif last >= steps:
        what = f"{where} ends after the last of {units.counted(steps, 'step')}, which is {steps - 1}"
    elif first == 0:
        what = f"{where} holds step 0, in which kernels are compiled and communicators made"
    else:
        return
    yield Finding(key="result.window", what=what, mend=_window_mend(steps))


@rule("figure-window-rule", Section.FIGURES, "the window is what its rule gives: skip-quarter/1, or result.rule.")
def window_rule(subject: Subject) -> Iterator[Finding]:
    """A window that the rule does not give, or a rule that nobody knows."""
    result = subject.recipe.result
    (first, last), steps, name = result.window, result.steps_per_run, result.rule or DEFAULT_RULE
    if not 0 < first <= last < steps or name == explicit_rule((first, last)):
        return
    if name not in RULES and not name.startswith("window "):
        close = nearest(name, RULES)
        yield Finding(
            key="result.rule",
            what=f"{name} is no window rule",
            mend=f"write {close}" if close else f"write one of {', '.join(RULES)}, or window {first}:{last}",
        )
        return
    try:
        given = RULES[name](steps) if name in RULES else None
    except ValueError:
        given = None
    if given != (first, last):
        gives = f"gives {given[0]}..{given[1]} for {units.counted(steps, 'step')}" if given else "is not that"
        yield Finding(
            key="result.window",
            what=f"{first}..{last}, but {name} {gives}",
            mend=(f"set result.window to [{given[0]}, {given[1]}], or " if given else "")
            + f"set result.rule to {rule_of((first, last), steps)}",
        )


def _window_mend(steps: int) -> str:
    if steps < 2:
        return "raise result.steps_per_run to 2 or more"
    first, last = skip_quarter(steps)
    return f"set result.window to [{first}, {last}]"


@rule("figure-window-tokens", Section.FIGURES, "window_tokens is steps in the window x global_batch x row_tokens.")
def tokens_of_window(subject: Subject) -> Iterator[Finding]:
    """A token count that the window contradicts."""
    result, workload = subject.recipe.result, subject.recipe.workload
    first, last = result.window
    if result.window_tokens is None or first > last:
        return
    expected = window_tokens(first, last, workload.global_batch, workload.row_tokens)
    if result.window_tokens != expected:
        yield Finding(
            key="result.window_tokens",
            what=f"{subject.written('result.window_tokens')}, but {last - first + 1} steps x global_batch "
            f"{workload.global_batch} x row_tokens {workload.row_tokens} = {expected}",
            mend=f"set result.window_tokens to {expected}",
        )


@rule("figure-usd", Section.FIGURES, "usd_per_million_tokens follows from tokens/s/GPU and the instance's price.")
def usd(subject: Subject) -> Iterator[Finding]:
    """A cost that the price contradicts."""
    stored, price = subject.recipe.result.usd_per_million_tokens, _price(subject)
    if stored is None or price is None or _is_impossible(subject):
        return

    def cost(rate: float) -> float:
        return usd_per_million_tokens(rate, price.usd_per_instance_hour, price.gpus_per_instance)

    rounded, origin = units.usd_per_million_tokens, f"price {price.id}"
    yield from _recomputed(subject, "usd_per_million_tokens", stored, of_rate=cost, rounded=rounded, origin=origin)


@rule("figure-usd-price", Section.FIGURES, "a cost needs an instance whose price is known.", "warning")
def usd_price(subject: Subject) -> Iterator[Finding]:
    """A cost that nobody can recompute."""
    if subject.recipe.result.usd_per_million_tokens is not None and _price(subject) is None:
        instance = subject.recipe.gpu.instance
        yield Finding(
            key="result.usd_per_million_tokens",
            what=f"{subject.written('result.usd_per_million_tokens')}, but "
            + (f"the catalogue has no price of {instance}" if instance else "gpu.instance is null"),
            mend="set it to null, or name an instance of the catalogue (openrecipes/catalog/prices.yaml of a checkout)",
        )


@rule("figure-mfu", Section.FIGURES, "mfu follows from tokens/s/GPU, active_params and the GPU's dense BF16 peak.")
def utilisation(subject: Subject) -> Iterator[Finding]:
    """An MFU that the throughput contradicts."""
    stored, gpu = subject.recipe.result.mfu, subject.gpu
    if stored is None or gpu is None or gpu.peak_flops_per_s is None or _is_impossible(subject):
        return
    peak, active = gpu.peak_flops_per_s.value, subject.recipe.result.active_params.count
    origin = f"6 x {active} active parameters / {peak:.4g} FLOP/s of {gpu.name}"

    def of_rate(rate: float) -> float:
        return mfu(rate, active, peak)

    yield from _recomputed(subject, "mfu", stored, of_rate=of_rate, rounded=units.mfu, origin=origin)


@rule("figure-rate", Section.FIGURES, "tokens_per_s_per_gpu is within the GPU's dense BF16 peak: an MFU of at most 1.")
def rate_within_peak(subject: Subject) -> Iterator[Finding]:
    """A rate that no GPU of this type can have; no figure is asked to follow from it."""
    fraction, gpus = _mfu_of_rate(subject), subject.recipe.gpu.count
    if fraction is None or fraction <= 1:
        return
    asked = f": is this the rate of all {gpus} GPUs together?" if gpus > 1 else ""
    yield Finding(
        key="result.tokens_per_s_per_gpu",
        what=f"{subject.written('result.tokens_per_s_per_gpu')} would be an MFU of {units.mfu(fraction)}, "
        f"more than the peak of {subject.recipe.gpu.type}{asked}",
        mend="write the tokens of the window / the seconds of its steps / the number of GPUs",
    )


@rule("figure-mfu-note", Section.FIGURES, "where mfu is null beside a throughput, mfu_note says why.")
def mfu_note(subject: Subject) -> Iterator[Finding]:
    """A figure left out without a reason."""
    result = subject.recipe.result
    if result.tokens_per_s_per_gpu is not None and result.mfu is None and result.mfu_note is None:
        yield Finding(
            key="result.mfu_note",
            what="null, but mfu is null too and there is a throughput",
            mend="write the mfu, or say in mfu_note why there is none",
        )


@rule("figure-mfu-peak", Section.FIGURES, "no MFU for a device without a peak.")
def mfu_peak(subject: Subject) -> Iterator[Finding]:
    """A fraction of nothing."""
    gpu = subject.gpu
    if subject.recipe.result.mfu is not None and gpu is not None and gpu.peak_flops_per_s is None:
        yield Finding(
            key="result.mfu",
            what=f"{subject.written('result.mfu')}, but the catalogue has no peak of {gpu.name}",
            mend="set result.mfu to null and say why in mfu_note",
        )


@rule("figure-active-params", Section.FIGURES, "active_params.count is what the catalogue derives for the model.")
def active_params(subject: Subject) -> Iterator[Finding]:
    """An N of another model, or counted by another rule."""
    count, model = subject.recipe.result.active_params.count, subject.model
    if model is not None and count != model.active_params:
        yield Finding(
            key="result.active_params.count",
            what=f"{subject.written('result.active_params.count')}, but {model.name} has "
            f"{units.thousands(model.active_params)} active parameters",
            mend=f"set result.active_params.count to {model.active_params}",
        )


@rule("figure-gpu-hours", Section.FIGURES, "gpu_hours is at least what the scored steps alone took.")
def gpu_hours(subject: Subject) -> Iterator[Finding]:
    """A job shorter than its own window."""
    result = subject.recipe.result
    if result.gpu_hours is None or result.tokens_per_s_per_gpu is None or result.window_tokens is None:
        return
    least = window_gpu_hours(result.window_tokens, result.tokens_per_s_per_gpu)
    if result.gpu_hours < least - _HALF_A_DIGIT:
        yield Finding(
            key="result.gpu_hours",
            what=f"{subject.written('result.gpu_hours')}, but the scored steps alone took {least:.2f} "
            f"({units.thousands(result.window_tokens)} tokens at {result.tokens_per_s_per_gpu} tokens/s/GPU)",
            mend="write GPUs x (job end - job start) in hours",
        )


@rule("figure-interval", Section.FIGURES, "confidence_interval holds tokens_per_s_per_gpu.")
def interval(subject: Subject) -> Iterator[Finding]:
    """An interval beside its own figure."""
    result = subject.recipe.result
    if result.confidence_interval is None or result.tokens_per_s_per_gpu is None:
        return
    low, high = result.confidence_interval
    if not low - _HALF_A_DIGIT <= result.tokens_per_s_per_gpu <= high + _HALF_A_DIGIT:
        yield Finding(
            key="result.confidence_interval",
            what=f"[{low}, {high}] does not hold the {result.tokens_per_s_per_gpu} of tokens_per_s_per_gpu",
            mend="score the run again and write both back",
        )


def _mfu_of_rate(subject: Subject) -> float | None:
    """The MFU that the stored throughput means; None where there is no throughput or no peak."""
    result, peak = subject.recipe.result, subject.gpu.peak_flops_per_s if subject.gpu else None
    if result.tokens_per_s_per_gpu is None or peak is None:
        return None
    return mfu(result.tokens_per_s_per_gpu, result.active_params.count, peak.value)


def _is_impossible(subject: Subject) -> bool:
    return (_mfu_of_rate(subject) or 0) > 1


def _price(subject: Subject) -> Price | None:
    instance = subject.recipe.gpu.instance
    return default_price(instance) if instance else None


def _recomputed(
    subject: Subject,
    name: str,
    stored: float,
    *,
    of_rate: Callable[[float], float],
    rounded: Callable[[float], float],
    origin: str,
) -> Iterator[Finding]:
    rate = subject.recipe.result.tokens_per_s_per_gpu
    key = f"result.{name}"
    if rate is None:
        yield Finding(
            key=key,
            what=f"{subject.written(key)}, but tokens_per_s_per_gpu is null",
            mend="write both, or set both to null",
        )
        return
    bounds = [rounded(of_rate(max(rate + step, rate / 2))) for step in (-_HALF_A_DIGIT, 0, _HALF_A_DIGIT)]
    if not min(bounds) <= rounded(stored) <= max(bounds):
        yield Finding(
            key=key,
            what=f"{subject.written(key)}, but {subject.written('result.tokens_per_s_per_gpu')} tokens/s/GPU "
            f"and {origin} give {bounds[1]}",
            mend=f"set {key} to {bounds[1]}",
        )
