"""A checkpoint's preparation as a launch: what a recipe's model needs, where a profile says, and every file of it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from openrecipes.catalog.gpus import find_gpu
from openrecipes.catalog.models import Model, model
from openrecipes.layouts.degrees import gpus_of_a_node
from openrecipes.problems import Place, Problem, ProblemsError, UsageError, errors_in, in_order
from openrecipes.recipe.model import Recipe
from openrecipes.recipe.read import LocatedRecipe
from openrecipes.render.argument import Argument, EnvironmentValue, Line, variable
from openrecipes.render.command import Command
from openrecipes.render.environment import environment
from openrecipes.targets.checkpoint import Kind
from openrecipes.targets.checkpoint_node import CONVERTER, RANDOM
from openrecipes.targets.checkpoint_paths import checkpoint_warnings
from openrecipes.targets.conversion import OVERHEAD_GIB, Conversion, DiskNeed, conversions, disk_need, laid_over
from openrecipes.targets.gpu_refusals import stated_gpus
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


@dataclass(frozen=True, kw_only=True, slots=True)
class _NodeGpus:
    """Kind and number of a node's GPUs; `usable_gib` of each, None where the catalogue does not know them."""

    type: str
    count: int
    usable_gib: float | None


def preparation(
    located: LocatedRecipe, profile: Profile, *, kind: Kind, nodes_wanted: int | None, gpus_wanted: int | None
) -> Preparation:
    """The preparation of a recipe's checkpoint, on as few nodes as hold the model where no number is given. Pure.

    Raises: ProblemsError with everything that the profile lacks, or that cannot be converted so.
    """
    found, target = model(located.recipe.model), target_of(None, profile)
    missing = tuple(_path_problems(profile))
    if missing:
        raise ProblemsError(*missing)
    gpus = _node_gpus(located.recipe, profile)
    conversion = _conversion(found, profile, gpus, nodes_wanted, gpus_wanted)
    launch = Launch(
        recipe=_recipe(located.recipe, conversion, gpus.type),
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
    problems = in_order((*_recipe_warnings(located), *checkpoint_warnings(launch), *target.refusals(launch)))
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


def _recipe_warnings(located: LocatedRecipe) -> Iterator[Problem]:
    """A recipe that reads no such checkpoint."""
    if located.recipe.trainer != "slime":
        what = f"{located.recipe.trainer} makes its own weights, and reads no such checkpoint"
        mend = "name a recipe of slime; its model's checkpoint fits every recipe of that model"
        place = located.place("trainer")
        yield Problem(place=place, rule="checkpoint-needed", what=what, mend=mend, severity="warning")


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
    found: Model, profile: Profile, gpus: _NodeGpus, nodes_wanted: int | None, gpus_wanted: int | None
) -> Conversion:
    """What was asked for, else the first that holds the model: on this machine by GPUs, elsewhere by whole nodes."""
    is_local = profile.target == "local"
    if nodes_wanted and nodes_wanted > 1 and is_local:
        what, mend = f"{nodes_wanted} nodes, and {profile.title} is one", "leave --nodes out, or name a cluster"
        raise UsageError(Problem(place=Place(key="--nodes"), rule="target-nodes", what=what, mend=mend))
    order = (gpus_wanted,) if gpus_wanted else tuple(_powers(gpus.count) if is_local else range(gpus.count, 0, -1))
    most = 1 if is_local else len(profile.ssh.hosts) if profile.ssh else _MOST_NODES
    counts = range(nodes_wanted, nodes_wanted + 1) if nodes_wanted else range(1, most + 1)
    if all(laid_over(found, count, per_node) is None for count in counts for per_node in order):
        raise ProblemsError(_not_split(found, counts[0], order[0]))
    chosen = next(conversions(found, gpus.usable_gib, nodes=counts, gpus_per_node=order), None)
    if chosen is not None:
        return chosen
    whole_nodes = conversions(found, gpus.usable_gib, nodes=range(1, _MOST_NODES + 1), gpus_per_node=(gpus.count,))
    raise ProblemsError(_too_small(found, gpus, counts[-1] * max(order), next(whole_nodes, None), profile))


def _node_gpus(recipe: Recipe, profile: Profile) -> _NodeGpus:
    """What the profile says of its nodes, else the recipe's. Any kind converts."""
    name = next((name for _, _, name in stated_gpus(profile)), recipe.gpu.type)
    stated, card = profile.gpu.per_node if profile.gpu else None, find_gpu(name)
    return _NodeGpus(
        type=name,
        count=stated or gpus_of_a_node(recipe.gpu.count, recipe.gpu.per_node),
        usable_gib=card.usable_memory_gib if card else None,
    )


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
    mend = f"give --gpus and --nodes whose product is a power of two, {layers} at most"
    return Problem(place=Place(key="--gpus"), rule="conversion-gpus", what=what, mend=mend)


def _too_small(found: Model, gpus: _NodeGpus, most: int, enough: Conversion | None, profile: Profile) -> Problem:
    """The most that was allowed does not hold the model; how much would."""
    weights = disk_need(found, reads_weights=True).torch_dist_bytes / 2**30
    what = (
        f"the weights of {found.name} are {weights:,.1f} GiB, and {most} x {gpus.type} of {gpus.usable_gib:.1f} GiB do "
        f"not hold them ({OVERHEAD_GIB:g} GiB of each are left free)"
    )
    mend = "give other --gpus and --nodes"
    if enough is not None:
        nodes = f"{enough.nodes} node{'s' if enough.nodes > 1 else ''} of {enough.gpus_per_node} GPUs"
        where = " of a cluster" if profile.target == "local" and enough.nodes > 1 else ""
        mend = f"convert on {nodes}{where}"
    return Problem(place=Place(key="--nodes"), rule="conversion-memory", what=what, mend=mend)


def _recipe(recipe: Recipe, conversion: Conversion, gpu_type: str) -> Recipe:
    """The recipe as far as a target reads it: its GPUs and layout are the conversion's."""
    counts = {"count": conversion.gpus, "per_node": conversion.gpus_per_node}
    gpu = recipe.gpu.model_copy(update={"type": gpu_type, **counts})
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
