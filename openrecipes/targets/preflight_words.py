"""What the preflight of a launch is asked: from the recipe, its stack, the profile and the catalogue."""

import re
from collections.abc import Iterator
from typing import Final

from openrecipes.catalog.gpus import find_gpu
from openrecipes.catalog.models import model
from openrecipes.layouts.degrees import gpus_of_a_node
from openrecipes.problems import ProblemsError
from openrecipes.recipe.model import Recipe
from openrecipes.rows.hash_forms import OTHER_FORM
from openrecipes.targets.checkpoint import config_sha256
from openrecipes.targets.profile import Profile

# The stack's words, and the distributions or libraries whose version they start with.
_PINS: Final = {
    "pytorch": "torch",
    "transformer_engine": "transformer-engine",
    "deepep": "deep-ep",
    "nccl": "nccl",
    "cuda": "cuda",
    "python": "python",
}
# The oldest driver that runs each CUDA, by NVIDIA's table of minor version compatibility.
_DRIVERS: Final = {"11": "450.80.02", "12": "525.60.13", "13": "580.65.06"}
# The stack's words that begin with a commit, and the checkout whose history must hold it.
_COMMITS: Final = {
    "framework": (r"THUDM/slime ([0-9a-f]{7,40})", "slime"),
    "megatron_lm": (r"commit ([0-9a-f]{7,40})", "megatron"),
}
# slime's actors take their master port from here upward.
_MASTER_PORTS: Final = "20000-21000"
# Ray's and the dashboard's of a pod on its node's network, where a second pod of Ray would meet them.
_POD_PORTS: Final = (6379, 8265, 10001, 8080)
# Within a node all-connected by NVLink: 2 x H200 reach 330 to 333 GB/s at 1 GiB without NVLS, 8 x H100 466 with it; a
# bound on the reading itself would turn every second sound node away.
_NODE_BUS_GB: Final = 300
_TMP_GB: Final = 50
_RUNS_GB: Final = 10
# A rank's host process, its pinned buffers and its share of the rows. Unit: GiB.
_MEMORY_GIB_PER_GPU: Final = 8
_BF16_BYTES: Final = 2
# Beyond it the nodes' logs cannot be laid side by side; far beyond, certificates and tokens fail. Unit: seconds.
MOST_SKEW_S: Final = 1.0


def preflight_words(profile: Profile, recipe: Recipe | None = None, *, sft_data: str | None = None) -> tuple[str, ...]:
    """The options that a node's preflight is asked with; without a recipe, what the profile alone says."""
    words = list(_fabric_words(profile))
    if recipe is None:
        words += _profile_gpu_words(profile)
    else:
        words += _gpu_words(recipe)
        if recipe.trainer == "smoke":
            words += ["--nofile", "1024", "--shm-gib", "0"]
        else:
            words += _slime_words(profile, recipe, sft_data)
        if loads(profile, recipe):
            words += [
                "--load",
                *(("--node-bus-gb", str(_NODE_BUS_GB)) if _nvlinks(recipe.gpu.type, _gpus_of_a_node(recipe)) else ()),
            ]
    if recipe is None and profile.target == "local":
        words += ["--shm-gib", "0", "--nofile", "1024"]
    return tuple(words)


def between_words(profile: Profile, recipe: Recipe) -> tuple[str, ...]:
    """The options of what is looked at between nodes: collectives as the recipe's layout makes them."""
    words = ["--most-skew", f"{MOST_SKEW_S:g}"]
    if not loads(profile, recipe):
        return tuple(words)
    words += ["--load", "--gpus", str(recipe.gpu.per_node)]
    if recipe.layout.ep > 1:
        words += ["--group", str(recipe.layout.ep)]
    sent = _dispatched_bytes(recipe)
    return (*words, *(("--alltoall-bytes", str(sent)) if sent else ()))


def loads(profile: Profile, recipe: Recipe) -> bool:
    """Whether the preflight works the GPUs and the network, too."""
    wanted = profile.target != "local" if profile.preflight_load is None else profile.preflight_load
    return wanted and recipe.gpu.type != "CPU"


def _fabric_words(profile: Profile) -> Iterator[str]:
    if profile.fabric is not None:
        yield from ("--fabric", profile.fabric.kind, "--devices", str(profile.fabric.devices_per_node))
    if profile.kubernetes is not None:
        if profile.kubernetes.hugepages_2mi is not None:
            yield from ("--hugepages", "1")
        if profile.kubernetes.host_network:
            for port in _POD_PORTS:
                yield from ("--port", str(port))
        yield from ("--pin", f"ray={profile.kubernetes.ray_version}")


def _profile_gpu_words(profile: Profile) -> Iterator[str]:
    """The GPUs that the profile says its nodes have."""
    if profile.gpu is not None and profile.gpu.per_node is not None:
        yield from _card_words(profile.gpu.type, profile.gpu.per_node)


def _gpu_words(recipe: Recipe) -> Iterator[str]:
    yield from _card_words(recipe.gpu.type, _gpus_of_a_node(recipe))
    driver = _DRIVERS.get((recipe.stack.cuda or "").partition(".")[0])
    if driver is not None and recipe.gpu.type != "CPU":
        yield from ("--driver-at-least", driver)


def _card_words(name: str, count: int) -> Iterator[str]:
    """GPUs of one node: how many, which, their memory and their links."""
    card = find_gpu(name)
    if card is None or card.kind == "cpu":
        yield from ("--gpus", "0")
        return
    yield from ("--gpus", str(count), "--gpu", name)
    if card.memory_mib is not None:
        yield from ("--memory-mib", str(card.memory_mib.value))
    if links := _nvlinks(name, count):
        yield from ("--nvlinks", links)


def _nvlinks(name: str, count: int) -> str | None:
    """Links of a GPU where several of a node are connected; None without NVLink."""
    card = find_gpu(name)
    found = re.search(r"NVLink.*?(\d+) links", card.interconnect.value) if card and card.interconnect else None
    return found[1] if found and count > 1 else None


def _gpus_of_a_node(recipe: Recipe) -> int:
    return gpus_of_a_node(recipe.gpu.count, recipe.gpu.per_node)


def _slime_words(profile: Profile, recipe: Recipe, sft_data: str | None) -> Iterator[str]:
    gpus = _gpus_of_a_node(recipe)
    yield from ("--cpus", str(gpus + 2), "--memory-gib", str(gpus * _MEMORY_GIB_PER_GPU), "--port-range", _MASTER_PORTS)
    for key, name in _PINS.items():
        version = re.match(r"\d+(?:\.\d+)+", getattr(recipe.stack, key) or "")
        if version:
            yield from ("--pin", f"{name}={version[0]}")
    for key, (pattern, checkout) in _COMMITS.items():
        commit, folder = re.search(pattern, getattr(recipe.stack, key) or ""), getattr(profile.paths, checkout)
        if commit and folder:
            yield from ("--commit", f"{folder}={commit[1]}")
    yield from _path_words(profile, recipe, sft_data)


def _path_words(profile: Profile, recipe: Recipe, sft_data: str | None) -> Iterator[str]:
    paths, dataset = profile.paths, recipe.workload.dataset
    yield from ("--disk", f"{profile.ray.folder}={_TMP_GB}")
    # Of ssh a run's files lie in a folder of each host's own until they are brought here.
    if paths.runs and profile.target in ("slurm", "kubernetes"):
        yield from ("--disk", f"{paths.runs}={_RUNS_GB}")
    if rows := sft_data or paths.sft_data:
        # The same bytes on every node; but not those that the recipe names, since a parquet file's bytes are its
        # writer's. The rows' own hash tells, where it is of our form; else the launch has held them to the recipe.
        yield from ("--file", rows)
        comparable = dataset.rows_sha256 is not None and dataset.rows_sha256 not in OTHER_FORM
        yield from ("--rows", f"{rows}={dataset.rows_sha256}" if comparable else rows)
    if paths.torch_dist:
        made_for = _config_sha256(recipe)
        yield from ("--checkpoint", f"{paths.torch_dist}={made_for}" if made_for else paths.torch_dist)
    if paths.hf_checkpoint:
        # As openrecipes.rows has it, whose import takes longer than a render does.
        said = re.search(r"sha256[: ]+([0-9a-f]{64})", dataset.build.tokenizer)
        yield from ("--tokenizer", f"{paths.hf_checkpoint}={said[1]}" if said else paths.hf_checkpoint)


def _config_sha256(recipe: Recipe) -> str | None:
    try:
        return config_sha256(model(recipe.model))
    except ProblemsError:
        return None


def _dispatched_bytes(recipe: Recipe) -> int | None:
    """Bytes that a rank sends to the experts of one microbatch: tokens x hidden x top-k, BF16; None without experts."""
    try:
        shape = model(recipe.model).shape
    except ProblemsError:
        return None
    if not shape.experts_per_token:
        return None
    tokens = recipe.workload.row_tokens // max(1, recipe.layout.cp * recipe.layout.tp)
    return tokens * shape.hidden_size * shape.experts_per_token * _BF16_BYTES
