"""The figures of a recipe in words, each with what it was derived from."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from openrecipes import units
from openrecipes.catalog.gpus import find_gpu
from openrecipes.catalog.models import find_model
from openrecipes.catalog.prices import default_price
from openrecipes.figures.comparability import comparable
from openrecipes.figures.mfu import FORMULA_ID
from openrecipes.recipe.correctness import ComponentTest, Convergence, Correctness, Outcome
from openrecipes.recipe.model import Recipe
from openrecipes.site.addresses import CATALOGUE, anchor
from openrecipes.site.glossary import entry

_EVIDENCE: Final = "#evidence"
_RATE: Final = "Tokens/s per GPU"
_USD: Final = "$ / 1M tokens"
ANCHORS: Final = {"rate": anchor(_RATE), "usd": anchor(_USD)}
"""The ids of the two ranked figures on a recipe's page."""
_THROUGHPUT: Final = f"#{anchor(_RATE)}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """What a figure was derived from, and where that stands: an address, `#id` on the same page, or none."""

    text: str
    address: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Figure:
    """One line of a recipe's page: its name, its value in words, its glossary entry, what it was derived from."""

    name: str
    value: str
    short: str
    entry: str | None
    sources: tuple[Source, ...] = ()

    @property
    def brief(self) -> str:
        """The value without what stands in brackets."""
        return self.value.partition(" (")[0]

    @property
    def id(self) -> str:
        """The id of its line on the recipe's page."""
        return anchor(self.name)


def throughput(recipe: Recipe) -> Figure:
    """Tokens/s per GPU with its scoring rule, window, log and launched files."""
    rate = recipe.result.tokens_per_s_per_gpu
    value, short = (None, None) if rate is None else (f"{rate:,}", f"{rate:,.1f}")
    return _figure(_RATE, value, "tokens_per_s_per_gpu", (*_window(recipe), *_files(recipe)), short=short)


def price(recipe: Recipe) -> Figure:
    """$ / 1M tokens with the price it was computed from."""
    usd = recipe.result.usd_per_million_tokens
    sources = [Source(text="tokens/s per GPU", address=_THROUGHPUT)]
    known = default_price(recipe.gpu.instance) if recipe.gpu.instance else None
    if known:
        words = f"${known.usd_per_instance_hour:,} an hour for {known.gpus_per_instance} GPUs ({known.id})"
        sources.append(Source(text=words, address=f"{CATALOGUE}#{anchor(f'price-{known.id}')}"))
    value = None if usd is None else f"${usd:,.2f}"
    return _figure(_USD, value, "usd_per_million_tokens", tuple(sources))


def mfu(recipe: Recipe) -> Figure:
    """MFU with its formula, the active parameters and the GPU's peak."""
    result = recipe.result
    sources = [
        Source(text=f"formula {FORMULA_ID}", address=entry("mfu")),
        Source(text="tokens/s per GPU", address=_THROUGHPUT),
        Source(text="active parameters", address=_model_row(recipe.model)),
        *_peak(recipe.gpu.type),
    ]
    share = None if result.mfu is None else units.percent(result.mfu)
    value = None if share is None else f"{share} (N = {result.active_params.count:,} active parameters per token)"
    return _figure("MFU", value or result.mfu_note, "mfu", tuple(sources) if value else (), short=share)


def spread(recipe: Recipe) -> Figure:
    """Step-time CV over the window."""
    cv = recipe.result.step_time_cv_percent
    return _figure("Step-time CV", None if cv is None else f"{cv:,}%", "step_time_cv_percent", _window(recipe))


def interval(recipe: Recipe) -> Figure | None:
    """The 95 % interval of the throughput, where the result has one."""
    found = recipe.result.confidence_interval
    if found is None:
        return None
    value = f"{found[0]:,} to {found[1]:,} tokens/s/GPU"
    return _figure("95 % interval", value, "result.confidence_interval", _window(recipe))


def measured(recipe: Recipe) -> Figure:
    """The day of the run and how it was scored."""
    result = recipe.result
    first, last = result.window
    value = f"{result.measured}, {result.steps_per_run}-step run scored over steps {first}–{last}"
    runs = () if result.runs in (None, 1) else (Source(text=f"{result.runs} runs", address=None),)
    return _figure("Measured", value if result.measured else None, "window", runs)


def gpu_hours(recipe: Recipe) -> Figure:
    """GPU-hours of the job, with how they were taken."""
    result = recipe.result
    note = (Source(text=result.gpu_hours_note, address=None),) if result.gpu_hours_note else ()
    return _figure("GPU-hours", None if result.gpu_hours is None else f"{result.gpu_hours:,}", "gpu_hours", note)


def convergence(found: Convergence | None) -> Figure:
    """The convergence check, with its rule and the logs that it compared."""
    name, term = "Convergence check", "correctness.convergence.correlation"
    if found is None:
        return Figure(name=name, value="none", short="–", entry=entry(term))
    parts = []
    if found.correlation is not None:
        parts.append(f"correlation {found.correlation}")
    if found.final_loss_difference is not None:
        parts.append(f"final loss difference {found.final_loss_difference}")
    if found.pointwise_failures is not None:
        parts.append(f"{found.pointwise_failures:,} pointwise failures")
    said = f"{', '.join(parts) or found.result} over {units.counted(found.steps, 'step')}"
    value = _unless_passed(found.result) + (f"{said}. {_sentence(found.note)}" if found.note else said)
    return Figure(name=name, value=value, short=found.result, entry=entry(term), sources=tuple(_compared(found)))


def component_test(test: ComponentTest) -> str:
    """A component test in words; a failed one begins so."""
    return f"{_unless_passed(test.result)}{test.test}: {test.gpu}, {test.date}. Shape: {test.shape}. {test.detail}"


def configuration(found: Correctness) -> Figure:
    """The configuration check, with what was compared."""
    evidence = found.configuration_evidence
    sources: tuple[Source, ...] = ()
    if evidence:
        sources = (
            Source(text=f"classes {evidence.classes}", address=None),
            Source(text=f"reference {evidence.reference}, {evidence.reference_sha256[:12]}", address=None),
            Source(text=f"candidate {evidence.candidate_sha256[:12]}", address=None),
        )
    value = found.configuration or "not checked"
    return Figure(name="Configuration check", value=value, short=value, entry=None, sources=sources)


def _unless_passed(outcome: Outcome) -> str:
    return "" if outcome == "pass" else "failed: "


def _compared(found: Convergence) -> Iterator[Source]:
    if found.rule:
        yield Source(text=f"rule {found.rule}", address=None)
    logs = {
        "candidate log": found.candidate_log_sha256,
        "reference log": found.reference_log_sha256,
        "frozen arm's log": found.frozen_log_sha256,
    }
    yield from (Source(text=f"{word} {sha256[:12]}", address=None) for word, sha256 in logs.items() if sha256)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _figure(
    name: str, value: str | None, term: str, sources: tuple[Source, ...], *, short: str | None = None
) -> Figure:
    shown = value or "not measured"
    return Figure(
        name=name, value=shown, short=short or (value or "–"), entry=entry(term), sources=sources if value else ()
    )


def _window(recipe: Recipe) -> tuple[Source, ...]:
    result, key = recipe.result, comparable(recipe)
    first, last = result.window
    steps = f"steps {first}–{last} of {result.steps_per_run}"
    tokens = "" if result.window_tokens is None else f", {result.window_tokens:,} tokens"
    return (
        Source(text=f"rule {key.rule}", address=entry("window")),
        Source(text=steps + tokens, address=entry("window_tokens")),
        Source(text=f"timer {key.timer}", address=entry("step time")),
    )


def _files(recipe: Recipe) -> Iterator[Source]:
    for word, sha256 in (("log", recipe.result.log_sha256), ("launched files", recipe.result.render_sha256)):
        yield Source(text=f"{word} {sha256[:12]}" if sha256 else f"{word}: no hash", address=_EVIDENCE)


@lru_cache(maxsize=64)
def _peak(gpu_type: str) -> tuple[Source, ...]:
    card = find_gpu(gpu_type)
    if card is None or card.peak_flops_per_s is None:
        return ()
    words = f"{card.name} peak {card.peak_flops_per_s.value / 1e12:,.0f} TFLOP/s"
    return (Source(text=words, address=f"{CATALOGUE}#{anchor(f'gpu-{card.name}')}"),)


@lru_cache(maxsize=1024)
def _model_row(name: str) -> str | None:
    return f"{CATALOGUE}#{anchor(f'model-{name}')}" if find_model(name) else None
