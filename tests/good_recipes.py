"""Recipes in which `check` finds nothing at all, warnings included: what mutations start from."""

import contextlib
import copy
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import Any

import yaml
from varied_recipes import published, smoke
from verified_evidence import RECOMPUTABLE

from openrecipes.catalog.models import model
from openrecipes.problems import ProblemsError
from openrecipes.recipe.model import Recipe
from openrecipes.recipe.write import HEADER, block_text, plain
from openrecipes.render.command import command_text
from openrecipes.render.summary import highlights, label, summary

FILE = "recipes/qwen3.5-397b-a17b/h200/attune-fast.yaml"
SMOKE_FILE = "recipes/qwen3.5-moe-mini/cpu/smoke-dp2.yaml"
DENSE_FILE = "recipes/qwen3-32b/h200/attune-fast.yaml"
ODD_FILE = "recipes/odd-heads/h200/attune-fast.yaml"

# A model that no shipped one is like: 12 query heads over 4 groups. Tests put it beside the catalogue.
ODD_MODEL = """\
name: Odd-Heads
source: made for the tests
revision: null
retrieved: 2026-11-30
not_counted: []
model_type: qwen3
config:
  vocab_size: 153600
  hidden_size: 768
  num_hidden_layers: 8
  num_attention_heads: 12
  num_key_value_heads: 4
  head_dim: 64
  hidden_act: silu
  rms_norm_eps: 1.0e-06
  tie_word_embeddings: false
  rope_parameters: {rope_type: default, rope_theta: 1000000, partial_rotary_factor: 1.0}
  intermediate_size: 3072
"""

UNMEASURED: Mapping[str, Any] = {
    "status": "draft",
    "correctness": None,
    "result.tokens_per_s_per_gpu": None,
    "result.usd_per_million_tokens": None,
    "result.step_time_cv_percent": None,
    "result.mfu": None,
    "result.measured": None,
    "result.runs": None,
    "result.profiler": None,
    "result.gpu_hours": None,
    "result.gpu_hours_note": None,
}


@cache
def good() -> str:
    """The first published recipe with its own warnings mended."""
    changes = {
        "patches": ["NVIDIA/Megatron-LM pull request 3575"],
        "arguments": {"moe_permute_fusion": True},
        **RECOMPUTABLE,
    }
    return text_with(HEADER.format(path=FILE) + block_text(plain(published())), changes)


@cache
def good_smoke() -> str:
    """The shipped smoke recipe."""
    return HEADER.format(path=SMOKE_FILE) + block_text(plain(smoke()))


@cache
def good_dense() -> str:
    """A draft of a model without experts, on 16 GPUs."""
    changes = {
        **UNMEASURED,
        "model": "Qwen3-32B",
        "gpu.count": 16,
        "layout.summary": "no offload",
        "layout.tp": 1,
        "layout.ep": 1,
        "layout.dp": 4,
        "layout.sequence_parallel": False,
        "layout.dispatcher": None,
        "arguments": None,
        "workload.dataset.build.loss_mask": "qwen3",
        "result.active_params.count": model("Qwen3-32B").active_params,
    }
    return at(DENSE_FILE, text_with(good(), changes))


@cache
def good_odd() -> str:
    """A draft of the model with 12 query heads and 4 groups, on 16 GPUs."""
    changes = {
        "model": "Odd-Heads",
        "result.active_params.count": 187_170_816,
    }
    return at(ODD_FILE, text_with(good_dense(), changes))


def text_with(text: str, changes: Mapping[str, Any], *, derived: tuple[str, ...] = ("words", "run")) -> str:
    """The recipe's text with dotted keys set (None under `arguments` removes the block), then words and run derived.

    What cannot be derived, since the recipe has no command, is left as it was.
    """
    header, data = text[: text.index("schema_version")], copy.deepcopy(_data(text))
    for key, value in changes.items():
        _set(data, key, value)
    with contextlib.suppress(ProblemsError, ValueError):
        _derive(data, derived)
    return header + block_text(data)


@lru_cache(maxsize=32)
def _data(text: str) -> dict[str, Any]:
    data: dict[str, Any] = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return data


def at(file: str, text: str) -> str:
    """The text with a header that names this file."""
    return HEADER.format(path=file) + text[text.index("schema_version") :]


def _set(data: dict[str, Any], key: str, value: Any) -> None:
    *blocks, last = key.split(".")
    for block in blocks:
        data = data.setdefault(block, {})
    if key == "arguments" and value is None:
        data.pop(key, None)
    elif key == "arguments" and "arguments" not in data:
        _insert_before(data, "result", key, value)
    else:
        data[last] = value


def _insert_before(data: dict[str, Any], place: str, key: str, value: Any) -> None:
    items = list(data.items())
    data.clear()
    for name, item in items:
        if name == place:
            data[key] = value
        data[name] = item


def _derive(data: dict[str, Any], derived: tuple[str, ...]) -> None:
    recipe = Recipe.model_validate(_tuples(data))
    if "words" in derived:
        layout = data["layout"]
        layout["label"] = label(recipe)
        layout["summary"] = summary(recipe, layout["summary"])
        if layout["highlights"] is not None:
            layout["highlights"] = highlights(recipe)
        recipe = Recipe.model_validate(_tuples(data))
    if "run" in derived:
        data["run"] = command_text(recipe, model(recipe.model))


def _tuples(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _tuples(item) for key, item in value.items()}
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value


GOOD: Mapping[str, Callable[[], str]] = {
    FILE: good,
    SMOKE_FILE: good_smoke,
    DENSE_FILE: good_dense,
    ODD_FILE: good_odd,
}
