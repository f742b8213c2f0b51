"""Measured peaks of real training ranks, and the plan of the same configurations."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openrecipes.catalog.model_parts import LatentAttention, Layer, Shape
from openrecipes.catalog.models import model_from
from openrecipes.plan.choices import Choices, choices_of
from openrecipes.plan.parameters import ModelParameters, model_parameters
from openrecipes.plan.placement import Placement
from openrecipes.plan.planner import Planner
from openrecipes.plan.stage_memory import StageMemory

DATA = json.loads((Path(__file__).parent / "data" / "plan" / "measured.json").read_text(encoding="utf-8"))


@dataclass(frozen=True, kw_only=True)
class MeasuredRank:
    """One rank of one run: what was measured, and how to plan it."""

    run: str
    stage: int
    peak_mib: float
    parameters: int
    imbalance: float | None  # None where every expert is on the rank
    counts: ModelParameters
    placement: Placement
    choices: Choices

    @property
    def label(self) -> str:
        stage = f", stage {self.stage}" if self.placement.pp > 1 else ""
        share = f", {self.imbalance:.2f} of the mean tokens" if self.imbalance else ""
        return f"{self.run}{stage}{share}"

    def planned(self, choices: Choices | None = None) -> StageMemory:
        """The stage's plan, under other choices if given."""
        planner = Planner(counts=self.counts, choices=choices or self.choices, imbalance=self.imbalance or 1.0)
        return planner.stage(self.placement, self.stage)


def measured_ranks() -> list[MeasuredRank]:
    """Every measured rank, in file order."""
    return [rank for run in DATA["runs"] for rank in _ranks(run)]


def _ranks(run: dict[str, Any]) -> list[MeasuredRank]:
    counts = _counts(DATA["models"][run["model"]], run["vocab_size"])
    choices = choices_of({flag: tuple(values) for flag, *values in run["flags"]})
    placement = _placement(run, choices)
    return [
        MeasuredRank(
            run=run["name"],
            stage=rank["stage"],
            peak_mib=rank["peak_mib"],
            parameters=rank["parameters"],
            imbalance=rank.get("imbalance"),
            counts=counts,
            placement=placement,
            choices=choices,
        )
        for rank in run["ranks"]
    ]


def _placement(run: dict[str, Any], choices: Choices) -> Placement:
    degrees = {"tp": 1, "pp": 1, "vpp": 1, "cp": 1, "ep": 1, **run.get("layout", {})}
    rows = run.get("rows_per_microbatch", 1)
    return Placement(
        gpus=run["gpus"],
        **degrees,
        dp=run["gpus"] // (degrees["tp"] * degrees["pp"] * degrees["cp"]),
        sequence_parallel=run.get("sequence_parallel", False),
        dispatcher="alltoall",
        row_tokens=8192,
        rows_per_microbatch=rows,
        max_tokens_per_gpu=8192 * rows,
        global_batch=run["global_batch"],
        pad_multiplier=choices.pad_multiplier,
        recompute=choices.recompute,
    )


def _counts(entry: dict[str, Any], vocab_size: int) -> ModelParameters:
    config = entry["config"]
    if entry["model_type"] is None:
        return _latent(config, vocab_size)
    data = {
        "name": "measured",
        "source": "tests/data/plan/measured.json",
        "revision": None,
        "retrieved": "2026-11-30",
        "not_counted": [],
        "model_type": entry["model_type"],
        "config": {**config, "vocab_size": vocab_size},
    }
    return model_parameters(model_from(data))


def _latent(config: dict[str, int], vocab_size: int) -> ModelParameters:
    """Latent attention with softmax-routed experts in every layer: Megatron builds it, no family has it."""
    hidden, heads, rank, kv = (
        config[name] for name in ("hidden_size", "num_attention_heads", "q_lora_rank", "kv_lora_rank")
    )
    latent = LatentAttention(
        q_lora_rank=rank,
        kv_lora_rank=kv,
        qk_nope_head_dim=config["qk_nope_head_dim"],
        qk_rope_head_dim=config["qk_rope_head_dim"],
        v_head_dim=config["v_head_dim"],
    )
    head_dim = latent.qk_nope_head_dim + latent.qk_rope_head_dim
    layers = config["num_hidden_layers"]
    shape = Shape(
        hidden_size=hidden,
        vocab_size=vocab_size,
        layers=(Layer(mixer="latent_attention", mlp="moe"),) * layers,
        num_attention_heads=heads,
        num_query_groups=heads,
        head_dim=head_dim,
        tied_embeddings=False,
        num_experts=config["num_experts"],
        experts_per_token=config["num_experts_per_tok"],
        moe_ffn_hidden_size=config["moe_intermediate_size"],
        latent_attention=latent,
    )
    split = rank * heads * head_dim + kv * heads * (latent.qk_nope_head_dim + latent.v_head_dim)
    split += heads * latent.v_head_dim * hidden
    copied = hidden * (rank + kv + latent.qk_rope_head_dim) + rank + kv
    copied += 2 * hidden + shape.num_experts * hidden  # type: ignore[operator]
    experts = 3 * hidden * config["moe_intermediate_size"] * config["num_experts"]
    sums = [tuple(count * number for number in range(layers + 1)) for count in (split, copied, experts)]
    return ModelParameters(
        shape=shape,
        kinds=(shape.layers[0],),
        pattern="0" * layers,
        split=sums[0],
        copied=sums[1],
        experts=sums[2],
        last=hidden,
    )
