"""A recipe of the smoke trainer, two ranks on a CPU, for tests that launch or render one."""

from pathlib import Path

import yaml

from openrecipes.catalog.models import model
from openrecipes.recipe.model import Recipe
from openrecipes.recipe.read import LocatedRecipe, parse_recipe
from openrecipes.recipe.write import recipe_text
from openrecipes.render.command import command_text

PLACE = "recipes/qwen3.5-moe-mini/cpu/tests-dp2.yaml"
TEXT = """\
# recipes/qwen3.5-moe-mini/cpu/tests-dp2.yaml
# An OpenRecipes recipe; the fields are documented in schema/recipe.schema.yaml.
schema_version: 1
model: Qwen3.5-MoE-mini
gpu: {type: CPU, memory_gb: null, count: 2, per_node: 2, instance: null}
author: {name: Tests, url: null}
status: smoke
trainer: smoke
stack:
  framework: null
  megatron_lm: null
  transformer_engine: null
  pytorch: null
  cuda: null
  nccl: null
  deepep: null
  python: null
  network: null
  source: null
workload:
  row_tokens: 64
  rows: SFT conversations
  global_batch: 4
  precision: fp32
  dataset:
    name: made up
    source: data/fixtures/conversations.jsonl
    revision: null
    license: Apache-2.0
    rows_sha256: null
    build:
      name: test-rows
      tokenizer: qwen3.5-embedded
      loss_mask: qwen3_5
      rows: 56
      row_tokens: 64
      padding_tokens: 0
      seed: 42
      packing: source conversations in a seeded global permutation
      supervised_token_ratio: null
      parquet_sha256: null
      parquet_bytes: null
      builder: openrecipes data build
layout:
  label: TP1 PP1 EP1 DP2
  summary: TP 1, PP 1, CP 1, EP 1, ETP 1, DP 2; one 64-token row per microbatch; no recompute; alltoall dispatcher; no
    offload
  highlights: null
  tp: 1
  pp: 1
  vpp: 1
  cp: 1
  ep: 1
  etp: 1
  dp: 2
  sequence_parallel: false
  layer_split: null
  max_tokens_per_gpu: 64
  rows_per_microbatch: 1
  recompute: null
  offload: null
  dispatcher: alltoall
result:
  tokens_per_s_per_gpu: null
  usd_per_million_tokens: null
  step_time_cv_percent: null
  mfu: null
  mfu_note: runs on a CPU, which has no peak here
  active_params: {count: 17210112, source: null, revision: null}
  measured: null
  steps_per_run: 14
  window: [4, 13]
  window_tokens: 2560
  runs: null
  profiler: null
  gpu_hours: null
  gpu_hours_note: null
correctness: null
env:
  OMP_NUM_THREADS: '1'
patches: []
run: ''
"""


def smoke_recipe(**changes: object) -> Recipe:
    """The recipe with top-level blocks changed: `smoke_recipe(env={"A": "b"})`."""
    document = yaml.safe_load(TEXT)
    for key, value in changes.items():
        document[key] = {**document.get(key, {}), **value} if isinstance(value, dict) and key != "env" else value
    return located(document).recipe


def located(document: dict[str, object]) -> LocatedRecipe:
    """A recipe from plain data, sound."""
    found = parse_recipe(yaml.safe_dump(document, sort_keys=False, allow_unicode=True), "tests-dp2.yaml")
    assert not found.problems, found.problems
    return found


def write_smoke_recipe(root: Path, **changes: object) -> Path:
    """Such a recipe as a file below `root`, in the place that its name asks for, with its own command in `run`."""
    recipe = smoke_recipe(**changes)
    recipe = recipe.model_copy(update={"run": command_text(recipe, model(recipe.model))})
    path = root / PLACE
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(recipe_text(recipe, PLACE), encoding="utf-8")
    return path
