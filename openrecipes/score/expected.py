"""What a run must have been for its figures to be the recipe's."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from openrecipes.catalog.gpus import Gpu, find_gpu, gpu
from openrecipes.catalog.models import Model, model
from openrecipes.catalog.prices import Price, default_price
from openrecipes.figures.flops import TokenFlops, token_flops
from openrecipes.figures.window import Window
from openrecipes.problems import UsageError
from openrecipes.recipe.model import Recipe
from openrecipes.recipe.result import ActiveParams

# Megatron's own names in the argument dump, against the flags that the catalogue derives for a model.
_MODEL_ARGUMENTS: Final = ("num_layers", "hidden_size", "num_experts", "moe_router_topk", "vocab_size")


@dataclass(frozen=True, kw_only=True, slots=True)
class ExpectedArgument:
    """A value that the trainer's argument dump must show: the recipe's key and the printed forms it may have."""

    key: str
    printed: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Expected:
    """The run that is scored, as the recipe or the caller states it. None is not stated.

    `active_params` is N of the MFU formula, `flops` what a token takes exactly, a row being one segment; `no_mfu` says
    why there is none where `gpu` or N is not known.
    """

    gpus: int
    global_batch: int
    row_tokens: int
    steps_per_run: int | None = None
    window: Window | None = None
    model: str | None = None
    gpu_type: str | None = None
    rows_sha256: str | None = None
    supervised_token_ratio: float | None = None
    gpu: Gpu | None = None
    active_params: ActiveParams | None = None
    flops: TokenFlops | None = None
    no_mfu: str | None = "no model and GPU were named"
    price: Price | None = None
    no_price: str | None = "no GPU was named"
    dp: int | None = None
    arguments: Mapping[str, ExpectedArgument] = field(default_factory=dict)
    always_allows_unsteady: bool = False
    starts_from_random_weights: bool = False

    @property
    def tokens_per_step(self) -> int:
        """Tokens of an optimizer step over all GPUs."""
        return self.global_batch * self.row_tokens


def expected_of(recipe: Recipe, price: Price | None = None) -> Expected:
    """What the recipe states; `price` instead of the catalogue's default for its instance."""
    shape = _known_model(recipe.model)
    chip = find_gpu(recipe.gpu.type)
    cost = price or (default_price(recipe.gpu.instance) if recipe.gpu.instance else None)
    smoke = recipe.trainer == "smoke"
    return Expected(
        gpus=recipe.gpu.count,
        global_batch=recipe.workload.global_batch,
        row_tokens=recipe.workload.row_tokens,
        steps_per_run=recipe.result.steps_per_run,
        window=recipe.result.window,
        model=recipe.model,
        gpu_type=recipe.gpu.type,
        rows_sha256=recipe.workload.dataset.rows_sha256,
        supervised_token_ratio=recipe.workload.dataset.build.supervised_token_ratio,
        gpu=chip,
        active_params=recipe.result.active_params if shape is None else _active_params(shape),
        flops=token_flops(shape, [recipe.workload.row_tokens]) if shape else None,
        no_mfu=_why_no_mfu(recipe.gpu.type, chip, recipe.model, shape),
        price=cost,
        no_price=None if cost else _why_no_price(recipe.gpu.type, recipe.gpu.instance, chip),
        dp=recipe.layout.dp,
        arguments=dict(_arguments(recipe, shape)),
        always_allows_unsteady=smoke or recipe.status == "smoke",
        starts_from_random_weights=smoke,
    )


def expected_by_hand(
    *,
    gpus: int,
    global_batch: int,
    row_tokens: int,
    gpu_type: str | None = None,
    model_name: str | None = None,
    price: Price | None = None,
) -> Expected:
    """What the caller states without a recipe.

    Raises: UsageError for a GPU or a model that the catalogue does not have.
    """
    chip = gpu(gpu_type, key="--gpu") if gpu_type else None
    shape = model(model_name) if model_name else None
    cost = price or next((found for found in map(default_price, _instances(chip)) if found), None)
    words = [word for word, found in (("GPU", chip), ("model", shape)) if found is None]
    flags = " and ".join(f"--{word.lower()}" for word in words)
    no_mfu: str | None = f"MFU needs a {' and a '.join(words)}: give {flags}"
    if chip is not None and shape is not None:
        no_mfu = _why_no_mfu(chip.name, chip, shape.name, shape)
    no_price = f"no instance price is known for {chip.name}" if chip else "$ needs a GPU: name it with --gpu"
    return Expected(
        gpus=gpus,
        global_batch=global_batch,
        row_tokens=row_tokens,
        model=shape.name if shape else None,
        gpu_type=chip.name if chip else None,
        gpu=chip,
        active_params=_active_params(shape) if shape else None,
        flops=token_flops(shape, [row_tokens]) if shape else None,
        no_mfu=no_mfu,
        price=cost,
        no_price=None if cost else no_price,
    )


def _why_no_price(gpu_type: str, instance: str | None, chip: Gpu | None) -> str:
    """Why a recipe has no $: what stands in it names no priced instance."""
    if instance is None and any(default_price(name) for name in _instances(chip)):
        return "no gpu.instance is named, and a price is an instance's; see --price"
    return f"no instance price is known for {instance or gpu_type}"


def _known_model(name: str) -> Model | None:
    try:
        return model(name)
    except UsageError:
        return None


def _active_params(shape: Model) -> ActiveParams:
    return ActiveParams(count=shape.active_params, source=shape.entry.source, revision=shape.entry.revision)


def _why_no_mfu(gpu_type: str, chip: Gpu | None, model_name: str, shape: Model | None) -> str | None:
    if chip is None:
        return f"{gpu_type} is not in the catalogue of GPUs, so its peak is not known"
    if chip.peak_flops_per_s is None:
        return "a CPU has no BF16 peak to divide by" if chip.kind == "cpu" else f"no peak is known for {chip.name}"
    return None if shape else f"{model_name} is not in the catalogue, so its active parameters are not known"


def _instances(chip: Gpu | None) -> Iterator[str]:
    yield from (instance.name for instance in (chip.instances if chip else ()))


def _arguments(recipe: Recipe, shape: Model | None) -> Iterator[tuple[str, ExpectedArgument]]:
    layout, recompute = recipe.layout, recipe.layout.recompute
    stated: dict[str, tuple[str, object]] = {
        "world_size": ("gpu.count", recipe.gpu.count),
        "global_batch_size": ("workload.global_batch", recipe.workload.global_batch),
        "tensor_model_parallel_size": ("layout.tp", layout.tp),
        "pipeline_model_parallel_size": ("layout.pp", layout.pp),
        "context_parallel_size": ("layout.cp", layout.cp),
        "expert_model_parallel_size": ("layout.ep", layout.ep),
        "expert_tensor_parallel_size": ("layout.etp", layout.etp),
        "data_parallel_size": ("layout.dp", layout.dp),
        "max_tokens_per_gpu": ("layout.max_tokens_per_gpu", layout.max_tokens_per_gpu),
        "recompute_granularity": ("layout.recompute", recompute.granularity if recompute else None),
    }
    if recipe.workload.precision in ("bf16", "fp16"):
        stated[recipe.workload.precision] = ("workload.precision", True)
    if recipe.workload.precision != "fp8":
        stated["fp8"] = ("workload.precision", None)
    for name, (key, value) in stated.items():
        yield name, ExpectedArgument(key=key, printed=(str(value),))
    chunks = ("None", "1") if layout.vpp == 1 else (str(layout.vpp),)
    yield "virtual_pipeline_model_parallel_size", ExpectedArgument(key="layout.vpp", printed=chunks)
    if layout.tp > 1:  # the trainer turns it off itself at TP 1
        printed = (str(layout.sequence_parallel),)
        yield "sequence_parallel", ExpectedArgument(key="layout.sequence_parallel", printed=printed)
    for argument in shape.architecture_arguments() if shape else ():
        name = argument.flag.removeprefix("--").replace("-", "_")
        if name in _MODEL_ARGUMENTS:
            yield name, ExpectedArgument(key="model", printed=argument.values)
