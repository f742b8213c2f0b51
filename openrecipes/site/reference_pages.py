"""The pages that explain: glossary, catalogue of facts, how to submit."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from openrecipes.catalog.facts import Fact
from openrecipes.catalog.gpus import Gpu, all_gpus
from openrecipes.catalog.models import all_models
from openrecipes.catalog.prices import all_prices, default_price
from openrecipes.site import glossary
from openrecipes.site.addresses import CATALOGUE, GLOSSARY, SUBMIT, anchor
from openrecipes.site.templates import page


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One step of a submission."""

    title: str
    text: str
    commands: str


@dataclass(frozen=True, kw_only=True, slots=True)
class GpuFacts:
    """A GPU with its facts: name, the fact, its value in words."""

    name: str
    facts: tuple[tuple[str, Fact, str], ...]


_RECIPE: Final = "recipes/MODEL/GPU/ME-LAYOUT.yaml"
_BUNDLE: Final = "evidence/MODEL/GPU/ME-LAYOUT.tar.gz"
_STEPS: Final = (
    Step(
        title="Derive a draft",
        text="Start from a published recipe. What follows from your change is derived again; the figures are empty.",
        commands="openrecipes new MODEL/GPU/ME-LAYOUT --from MODEL/GPU/AUTHOR-LAYOUT --author ME --set layout.tp=4\n"
        f"openrecipes plan {_RECIPE}\n"
        f"openrecipes check {_RECIPE}",
    ),
    Step(
        title="Measure it",
        text="The same rows, a rendered command, a log that is kept, a window that a rule chooses.",
        commands=f"openrecipes run {_RECIPE} --cluster CLUSTER.yaml --write --against MODEL/GPU/AUTHOR-LAYOUT\n"
        f"openrecipes env --run RUN_DIR --write {_RECIPE}",
    ),
    Step(
        title="Prove it",
        text="Arguments and loss curve against a reference's, components against FP64: needed for verified alone.",
        commands="openrecipes correctness --help",
    ),
    Step(
        title="Pack the evidence and verify it",
        text="One file holds recipe, rendered files, log, environment and steps; every figure comes out of it again.",
        commands=f"openrecipes bundle {_RECIPE} RUN_DIR -o {_BUNDLE} --redact\n"
        f"openrecipes verify {_BUNDLE} --recipe {_RECIPE}",
    ),
    Step(
        title="Open a pull request",
        text="With the recipe and its bundle, nothing else. These are the checks that it will meet.",
        commands="python .github/check_submission.py . --base origin/main",
    ),
)


def glossary_page() -> str:
    """Every term and figure with its formula."""
    return page("glossary.html.j2", GLOSSARY, terms=glossary.terms(), keys=glossary.keys())


def submit_page() -> str:
    """How to submit a recipe."""
    return page("submit.html.j2", SUBMIT, steps=_STEPS)


def catalogue_page() -> str:
    """GPUs, prices and models with their sources."""
    return page(
        "catalogue.html.j2",
        CATALOGUE,
        gpus=[GpuFacts(name=gpu.name, facts=tuple(_facts(gpu))) for gpu in all_gpus() if gpu.kind == "gpu"],
        prices=all_prices(),
        series=next(found.series for price in all_prices() if (found := default_price(price.instance))),
        models=all_models(),
        anchor=anchor,
    )


def _facts(gpu: Gpu) -> Iterator[tuple[str, Fact, str]]:
    if gpu.peak_flops_per_s:
        yield "Dense BF16 peak", gpu.peak_flops_per_s, f"{gpu.peak_flops_per_s.value / 1e12:,.0f} TFLOP/s"
    if gpu.memory_gb:
        yield "Memory as marketed", gpu.memory_gb, f"{gpu.memory_gb.value:,} GB"
    if gpu.memory_mib:
        yield "Usable memory", gpu.memory_mib, f"{gpu.memory_mib.value:,} MiB"
    if gpu.memory_bandwidth_bytes_per_s:
        bandwidth = gpu.memory_bandwidth_bytes_per_s
        yield "Memory bandwidth", bandwidth, f"{bandwidth.value / 1e12:,.2f} TB/s"
    if gpu.interconnect:
        yield "Links in a node", gpu.interconnect, gpu.interconnect.value
    for instance in gpu.instances:
        yield instance.name, instance.network, f"{instance.network.value}, {instance.network_gbit_per_s.value:,} Gb/s"
