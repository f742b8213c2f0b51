"""What follows from a recipe's fields, made anew after some of them changed."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from openrecipes import units
from openrecipes.catalog.gpus import find_gpu
from openrecipes.catalog.models import model
from openrecipes.figures.throughput import window_tokens
from openrecipes.figures.window import DEFAULT_RULE, RULES, rule_of
from openrecipes.layouts.degrees import data_parallel
from openrecipes.problems import Place, Problem
from openrecipes.recipe.model import Recipe
from openrecipes.recipe.result import Result
from openrecipes.render.command import command_text
from openrecipes.render.refusals import refusals
from openrecipes.render.summary import highlights, label, summary

_HASHES: Final = ("rows_sha256",)
_BUILT: Final = ("supervised_token_ratio", "parquet_sha256", "parquet_bytes")


@dataclass(frozen=True, kw_only=True, slots=True)
class Derived:
    """The recipe again, where the keys that changed with others got their values, and why it has no command.

    Where it is not `whole`, no dp or no window follows, and the old one stands.
    """

    recipe: Recipe
    origins: Mapping[str, str]
    problems: tuple[Problem, ...]
    whole: bool


def derive(before: Recipe, data: dict[str, Any], asked: Mapping[str, str]) -> Derived:
    """The recipe of plain `data`, in which the keys of `asked` were changed, with everything derived made anew.

    Figures, evidence and hashes that no longer hold are emptied; the status says that nothing is measured.
    Where no dp, no window or no command follows, or an asked value contradicts the others, its problems say so.
    Raises: UsageError for a model that is not known.
    """
    origins: dict[str, str] = {}
    _derive_hardware(data, asked, origins)
    _derive_rows(data, asked)
    problems = [*_derive_dp(data, asked, origins), *_derive_window(data, asked, origins)]
    whole = not problems
    _derive_result(data)
    data["run"] = ""
    recipe = Recipe.model_validate(data)
    layout = {"label": label(recipe), "summary": summary(recipe, before=before.layout.summary)}
    if recipe.layout.highlights is not None:
        layout["highlights"] = highlights(recipe)
    recipe = recipe.model_copy(update={"layout": recipe.layout.model_copy(update=layout)})
    found = model(recipe.model)
    problems += refusals(recipe, found)
    if not problems:
        recipe = recipe.model_copy(update={"run": command_text(recipe, found)})
    return Derived(recipe=recipe, origins=origins, problems=tuple(problems), whole=whole)


def _derive_hardware(data: dict[str, Any], asked: Mapping[str, str], origins: dict[str, str]) -> None:
    """Memory and instance of another GPU type, from the catalogue."""
    gpu = data["gpu"]
    found = find_gpu(gpu["type"]) if "gpu.type" in asked else None
    if found is None:
        return
    if "gpu.memory_gb" not in asked:
        gpu["memory_gb"] = found.memory_gb.value if found.memory_gb else None
        origins["gpu.memory_gb"] = f"catalogue, after {asked['gpu.type']}"
    names = [instance.name for instance in found.instances]
    if "gpu.instance" not in asked and gpu["instance"] not in names:
        gpu["instance"] = names[0] if names else None
        origins["gpu.instance"] = f"catalogue, after {asked['gpu.type']}"


def _derive_rows(data: dict[str, Any], asked: Mapping[str, str]) -> None:
    """Rows of another length or build are other rows: under another name, their hashes unknown."""
    dataset = data["workload"]["dataset"]
    build = dataset["build"]
    old, new = build["row_tokens"], data["workload"]["row_tokens"]
    if "workload.row_tokens" in asked and "workload.dataset.build.row_tokens" not in asked:
        build["row_tokens"] = new
        for key in ("name", "packing"):
            if f"workload.dataset.build.{key}" not in asked:
                text = build[key].replace(f"{old:,}-token", f"{new:,}-token")
                build[key] = re.sub(rf"(?<!\d){old}(?!\d)", str(new), text)
    if not any(key.startswith(("workload.dataset.", "workload.row_tokens")) for key in asked):
        return
    for key in _HASHES:
        if f"workload.dataset.{key}" not in asked:
            dataset[key] = None
    for key in _BUILT:
        if f"workload.dataset.build.{key}" not in asked:
            build[key] = None


def _derive_dp(data: dict[str, Any], asked: Mapping[str, str], origins: dict[str, str]) -> Iterator[Problem]:
    layout, gpus = data["layout"], data["gpu"]["count"]
    degrees = {name: layout[name] for name in ("tp", "pp", "cp")}
    words = f"{gpus} GPUs / (tp {layout['tp']} x pp {layout['pp']} x cp {layout['cp']})"
    try:
        dp = data_parallel(gpus, **degrees)
    except ValueError:
        what = f"{words} is no whole number"
        yield _problem("layout.dp", "layout-gpus", what, "change gpu.count, tp, pp or cp so that it is")
        return
    if "layout.dp" in asked and layout["dp"] != dp:
        what = f"{layout['dp']}, but {words} = {dp}"
        mend = f"leave layout.dp out, or set gpu.count to {gpus * layout['dp'] // dp}"
        yield _problem("layout.dp", "layout-dp", what, mend)
        return
    if layout["dp"] != dp:
        origins["layout.dp"] = "derived: gpu.count / (tp x pp x cp)"
    layout["dp"] = dp


def _derive_window(data: dict[str, Any], asked: Mapping[str, str], origins: dict[str, str]) -> Iterator[Problem]:
    result, workload = data["result"], data["workload"]
    steps = result["steps_per_run"]
    if "result.steps_per_run" in asked and "result.window" not in asked:
        try:
            result["window"] = RULES[DEFAULT_RULE](steps)
        except ValueError:
            none = f"of {units.counted(steps, 'step')} none is left to score"
            what = f"{none}: rule {DEFAULT_RULE} drops the first quarter, rounded up"
            yield _problem("result.steps_per_run", "window-steps", what, "set it to 2 or more")
            return
        origins["result.window"] = f"derived: rule {DEFAULT_RULE}"
    first, last = result["window"]
    if not 1 <= first <= last < steps:
        what = f"{first} to {last} is no window after the first step of {units.counted(steps, 'step')}, counted from 0"
        yield _problem("result.window", "window-steps", what, f"write [1, {steps - 1}] or less")
        return
    result["window_tokens"] = window_tokens(first, last, workload["global_batch"], workload["row_tokens"])


def _derive_result(data: dict[str, Any]) -> None:
    """No figure and no evidence: they belong to the recipe as it was."""
    old = data["result"]
    kept = {key: old[key] for key in ("steps_per_run", "window", "window_tokens")}
    rule = rule_of(tuple(old["window"]), old["steps_per_run"])
    note = old["mfu_note"] if old["mfu"] is None else None
    found = model(data["model"])
    params = old["active_params"]
    if params["count"] != found.active_params:
        params = {"count": found.active_params, "source": found.entry.source, "revision": found.entry.revision}
    required = (name for name, field in Result.model_fields.items() if field.is_required())
    data["result"] = {**dict.fromkeys(required), **kept, "mfu_note": note, "active_params": params}
    if rule != DEFAULT_RULE:
        data["result"]["rule"] = rule
    data["correctness"] = None
    data["status"] = "smoke" if data.get("trainer") == "smoke" else "draft"


def _problem(key: str, rule: str, what: str, mend: str) -> Problem:
    return Problem(place=Place(key=key), rule=rule, what=what, mend=mend)
