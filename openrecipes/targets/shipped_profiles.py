"""The example profiles that the project ships: by their names, and the one that suits a recipe.

profile_file(Path("slurm-p5en"))         -> Path; a file stays itself
example_for("slurm", recipe)             -> Path
"""

from collections.abc import Iterator
from pathlib import Path

from openrecipes.problems import Place, Problem, UsageError, nearest, unreadable
from openrecipes.recipe.model import Recipe
from openrecipes.shipped import shipped
from openrecipes.targets.gpu_refusals import stated_gpus
from openrecipes.targets.profile import Profile
from openrecipes.targets.read_profile import read_profile


def shipped_profiles() -> dict[str, Path]:
    """The shipped profiles' files by name, names in order."""
    return {path.stem: path for path in sorted(shipped("launch", "clusters").glob("*.yaml"))}


def profile_file(named: Path) -> Path:
    """The profile's file that a word means: a file, else the shipped profile of that name.

    Raises: UsageError where it is neither; what can be read is not looked into.
    """
    if named.exists() and not named.is_dir():
        return named
    known = shipped_profiles()
    if str(named) in known:
        return known[str(named)]
    what = "is a folder" if named.is_dir() else "there is no such file, and no shipped profile of that name"
    close = nearest(str(named), known) if len(named.parts) == 1 else None
    mend = f"did you mean {close}?" if close else f"name a file, or one of {', '.join(known)}"
    raise unreadable(str(named), what, mend)


def example_for(target: str, recipe: Recipe) -> Path:
    """The shipped profile of a target whose nodes have the recipe's GPUs, of the recipe's instance where one is.

    Raises: UsageError naming the target's profiles where none says that GPU.
    """
    there = {name: profile for name, profile in _profiles() if profile.target == target}
    fitting = [name for name, profile in there.items() if recipe.gpu.type in _gpus(profile)]
    if not fitting:
        gpus = (f"{name} ({', '.join(_gpus(profile)) or 'of no stated GPU'})" for name, profile in there.items())
        what = f"{target}, but no shipped profile of it has {recipe.gpu.type} nodes: {', '.join(gpus)}"
        mend = "describe the place in a profile of your own: --cluster FILE"
        raise UsageError(Problem(place=Place(key="--target"), rule="target-profile", what=what, mend=mend))
    # "AWS p5en.48xlarge" is the instance that slurm-p5en is of.
    family = (recipe.gpu.instance or "").rpartition(" ")[2].partition(".")[0]
    of_the_instance = [name for name in fitting if family and name.endswith(f"-{family}")]
    return shipped_profiles()[(of_the_instance or fitting)[0]]


def _profiles() -> Iterator[tuple[str, Profile]]:
    for name, path in shipped_profiles().items():
        yield name, read_profile(path)


def _gpus(profile: Profile) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for _, _, name in stated_gpus(profile)))
