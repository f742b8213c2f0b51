"""A checkpoint's preparation as a launch: what a recipe's model needs, where a profile says, and every file of it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from openrecipes.catalog.gpus import find_gpu
from openrecipes.catalog.models import Model, model
from openrecipes.layouts.degrees import nodes
from openrecipes.problems import Place, Problem, ProblemsError, UsageError, errors_in, in_order
from openrecipes.recipe.model import Recipe
from openrecipes.recipe.read import LocatedRecipe
from openrecipes.render.argument import Argument, EnvironmentValue, Line, variable
from openrecipes.render.command import Command
from openrecipes.render.environment import environment
from openrecipes.targets.checkpoint import Kind
from openrecipes.targets.checkpoint_node import CONVERTER, RANDOM
from openrecipes.targets.conversion import OVERHEAD_GIB, Conversion, DiskNeed, conversions, disk_need, laid_over
from openrecipes.targets.profile import Profile
from openrecipes.targets.rendering import Prepared, target_of
from openrecipes.targets.target import Launch

# Beyond slime's own examples; a search has to end.
_MOST_NODES: Final = 64
# A conversion takes no steps: it is held by the time limit, and by a line of its log that tells of a death.
_NO_STEP_S: Final = 30 * 24 * 3600
_PATHS: Final = ("slime", "megatron", "hf_checkpoint", "torch_dist")


@dataclass(frozen=True, kw_only=True, slots=True)
class Preparation:
    """A launch of the converter, with what it is for and what it takes."""

    ready: Prepared
    kind: Kind
    conversion: Conversion
    need: DiskNeed

    @property
    def checkpoint(self) -> str:
        """Path of the checkpoint on the target."""
        return self.ready.launch.profile.paths.torch_dist or ""


def preparation(
    located: LocatedRecipe, profile: Profile, *, kind: Kind, nodes_wanted: int | None, gpus_wanted: int | None
) -> Preparation:
    """The preparation of a recipe's checkpoint, on as few nodes as hold the model where no number is given. Pure.

    Raises: ProblemsError with everything that the profile lacks, or that cannot be converted so.
    """
    found, target = model(located.recipe.model), target_of(None, profile)
    if target.name == "kubernetes":
        what = "a preparation there is not rendered yet; its script runs in a pod of the training image"
        mend = "write its files with -o and a profile of the target local, and run launch.sh in a pod"
        raise ProblemsError(Problem(place=Place(key="--cluster"), rule="checkpoint-target", what=what, mend=mend))
    missing = tuple(_path_problems(profile))
    if missing:
        raise ProblemsError(*missing)
    conversion = _conversion(located.recipe, found, profile, nodes_wanted, gpus_wanted)
    launch = Launch(
        recipe=_recipe(located.recipe, conversion),
        model=found,
        command=_command(found, profile, kind, conversion),
        profile=profile.model_copy(
            update={
                # What it looks for is not there yet, or takes GPUs that are somebody else's for minutes.
                "preflight": "off",
                "hang": profile.hang.model_copy(update={"first_step_seconds": _NO_STEP_S}),
            }
        ),
        # They are the profile's own: whoever wrote it runs them.
        allow_shell_env=True,
    )
    problems = in_order(target.refusals(launch))
    if errors_in(problems):
        raise ProblemsError(*problems)
    ready = Prepared(
        target=target,
        launch=launch,
        launched=located,
        deviations=(),
        rendered=target.render(launch),
        warnings=problems,
    )
    need = disk_need(found, reads_weights=kind == "converted")
    return Preparation(ready=ready, kind=kind, conversion=conversion, need=need)


def _path_problems(profile: Profile) -> Iterator[Problem]:
    """Paths that the profile lacks, or that mean another place in another folder; two that are one."""
    mend = "write paths.{name} into a cluster profile, and name that with --cluster"
    paths = profile.paths
    for name in _PATHS:
        path, place = getattr(paths, name), Place(file=profile.title, key=f"paths.{name}")
        if path is None:
            what = "the preparation needs it, and the profile does not say it"
            yield Problem(place=place, rule="target-paths", what=what, mend=mend.format(name=name))
        elif not path.startswith("/"):
            what, how = f"{path} means another place in every folder", "write the path from the root"
            yield Problem(place=place, rule="target-paths", what=what, mend=how)
    if paths.torch_dist and paths.hf_checkpoint and paths.torch_dist.rstrip("/") == paths.hf_checkpoint.rstrip("/"):
        what = f"{paths.torch_dist} is the Hugging Face checkpoint's folder too"
        how = "name another folder, which need not exist yet"
        yield Problem(place=Place(file=profile.title, key="paths.torch_dist"), rule="target-paths", what=what, mend=how)


def _conversion(
    recipe: Recipe, found: Model, profile: Profile, nodes_wanted: int | None, gpus_wanted: int | None
) -> Conversion:
    """What was asked for, else the first that holds the model: on this machine by GPUs, elsewhere by whole nodes."""
    gpus, per_node = recipe.gpu, min(recipe.gpu.count, recipe.gpu.per_node)
    most_nodes = nodes(gpus.count, gpus.per_node)
    card = find_gpu(gpus.type)
    usable = card.usable_memory_gib if card else None
    is_local = profile.target == "local"
    if nodes_wanted and nodes_wanted > 1 and is_local:
        what, mend = f"{nodes_wanted} nodes, and {profile.title} is one", "leave --nodes out, or name a cluster"
        raise UsageError(Problem(place=Place(key="--nodes"), rule="target-nodes", what=what, mend=mend))
    if nodes_wanted and gpus_wanted and laid_over(found, nodes_wanted, gpus_wanted) is None:
        raise ProblemsError(_not_split(found, nodes_wanted, gpus_wanted))
    order = (gpus_wanted,) if gpus_wanted else tuple(_powers(per_node) if is_local else range(per_node, 0, -1))
    counts = range(nodes_wanted, nodes_wanted + 1) if nodes_wanted else range(1, 2 if is_local else most_nodes + 1)
    chosen = next(conversions(found, usable, nodes=counts, gpus_per_node=order), None)
    if chosen is not None:
        return chosen
    raise ProblemsError(_too_small(recipe, found, usable, counts, order))


def _powers(most: int) -> Iterator[int]:
    """1, 2, 4 … up to a number, and the number itself."""
    gpus = 1
    while gpus < most:
        yield gpus
        gpus *= 2
    yield most


def _not_split(found: Model, count: int, gpus: int) -> Problem:
    layers = len(found.shape.layers)
    what = f"{count} x {gpus} GPUs, and slime's converter lays the {layers} layers of {found.name} over no such number"
    mend = f"give --gpus and --nodes whose product is a power of two, of {layers} at most"
    return Problem(place=Place(key="--gpus"), rule="conversion-gpus", what=what, mend=mend)


def _too_small(recipe: Recipe, found: Model, usable: float | None, counts: range, order: tuple[int, ...]) -> Problem:
    """The most that was allowed does not hold the model; how much would."""
    gpus = recipe.gpu
    most = counts[-1] * max(order)
    enough = next(conversions(found, usable, nodes=range(1, _MOST_NODES), gpus_per_node=(gpus.per_node,)), None)
    weights = disk_need(found, reads_weights=True).torch_dist_bytes / 2**30
    has = f"{usable:.1f} GiB" if usable is not None else "no known memory"
    what = (
        f"the weights of {found.name} are {weights:,.1f} GiB, and {most} x {gpus.type} of {has} hold no layout of them"
        f" that slime's converter takes ({OVERHEAD_GIB:g} GiB of each are left free)"
    )
    mend = (
        f"convert on {enough.nodes} node{'s' if enough.nodes > 1 else ''} of {enough.gpus_per_node} GPUs: --nodes "
        f"{enough.nodes} with a profile of a cluster"
        if enough
        else "give other --gpus and --nodes"
    )
    return Problem(place=Place(key="--nodes"), rule="conversion-memory", what=what, mend=mend)


def _recipe(recipe: Recipe, conversion: Conversion) -> Recipe:
    """The recipe as far as a target reads it: its GPUs and layout are the conversion's."""
    gpu = recipe.gpu.model_copy(update={"count": conversion.gpus, "per_node": conversion.gpus_per_node})
    degrees = {"tp": 1, "pp": conversion.pp, "vpp": 1, "cp": 1, "ep": conversion.ep, "etp": 1}
    dispatcher = "alltoall" if recipe.layout.dispatcher is not None else None
    layout = recipe.layout.model_copy(update={**degrees, "dispatcher": dispatcher, "label": "checkpoint"})
    return recipe.model_copy(update={"trainer": "slime", "gpu": gpu, "layout": layout})


def _command(found: Model, profile: Profile, kind: Kind, conversion: Conversion) -> Command:
    """The converter with the model's own arguments; the environment is the profile's alone, and no recipe's."""
    lines = (
        Line(
            arguments=tuple(
                Argument(flag=a.flag, values=a.values, origin=f"catalog: {a.origin}")
                for a in found.architecture_arguments()
            )
        ),
        Line(arguments=tuple(conversion.arguments())),
        variable("--hf-checkpoint", "HF_CKPT", origin=profile.title),
        variable("--save", "TORCH_DIST", origin=profile.title),
    )
    fixed = EnvironmentValue(name="CUDA_DEVICE_MAX_CONNECTIONS", value="1", kind="literal", origin="conversion")
    own = environment(profile.env)
    return Command(
        trainer="converter",
        launcher=("torchrun", "--nnodes", str(conversion.nodes), "--nproc-per-node", str(conversion.gpus_per_node)),
        entry=RANDOM if kind == "random" else CONVERTER,
        environment=(*(() if any(v.name == fixed.name for v in own) else (fixed,)), *own),
        lines=tuple(line for line in lines if line.arguments),
    )
