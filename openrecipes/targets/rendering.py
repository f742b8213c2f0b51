"""One pure function from (recipe, place, overrides) to files: what `render` shows and what a launch submits."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from openrecipes.catalog.models import model
from openrecipes.check.overridden import override_problems
from openrecipes.problems import Place, Problem, ProblemsError, UsageError, errors_in, in_order, nearest
from openrecipes.recipe.read import LocatedRecipe
from openrecipes.render.command import command
from openrecipes.render.located import as_launched, placed, placed_in
from openrecipes.render.overrides import changed_by, shown
from openrecipes.render.setting_problems import Override, parsed_setting
from openrecipes.targets.checkpoint_paths import checkpoint_warnings
from openrecipes.targets.gpu_refusals import gpu_refusals
from openrecipes.targets.kubernetes import KubernetesTarget
from openrecipes.targets.local import LocalTarget
from openrecipes.targets.profile import THIS_MACHINE, Profile
from openrecipes.targets.slurm import SlurmTarget
from openrecipes.targets.ssh import SshTarget
from openrecipes.targets.target import Launch, Rendered, Target

TARGETS: tuple[Target, ...] = (LocalTarget(), SshTarget(), SlurmTarget(), KubernetesTarget())


@dataclass(frozen=True, kw_only=True, slots=True)
class Prepared:
    """A launch with its files. `launched` is the recipe with the overrides in it, as its text says it."""

    target: Target
    launch: Launch
    launched: LocatedRecipe
    deviations: tuple[str, ...]
    rendered: Rendered
    warnings: tuple[Problem, ...]


def target_named(name: str) -> Target:
    """The target of this name. Raises: UsageError naming the nearest one."""
    known = {target.name: target for target in TARGETS}
    if name in known:
        return known[name]
    close = nearest(name, known)
    what, mend = f"there is no target {name}", f"write {close}" if close else f"write one of {', '.join(known)}"
    raise UsageError(Problem(place=Place(key="--target"), rule="target-known", what=what, mend=mend))


def target_of(name: str | None, profile: Profile) -> Target:
    """The target that the caller named, or the profile's own. Raises: UsageError where the two are not the same."""
    target = target_named(name or profile.target)
    if target.name == profile.target:
        return target
    if profile.name is None:
        what = f"{target.name}, and no cluster profile says where that is"
        mend = "name the place's profile with --cluster FILE; `render --target` shows an example, and where it lies"
    else:
        what = f"{target.name}, but {profile.title} describes a place of the kind {profile.target}"
        mend = f"leave --target out, or name a profile of {target.name} with --cluster"
    raise UsageError(Problem(place=Place(key="--target"), rule="target-profile", what=what, mend=mend))


def prepared(
    located: LocatedRecipe,
    target: Target,
    *,
    settings: Sequence[str] = (),
    profile: Profile = THIS_MACHINE,
    sft_data: str | None = None,
    allow_shell_env: bool = False,
    refusals: Callable[[Launch], Iterable[Problem]] = lambda _launch: (),
) -> Prepared:
    """The launch of a sound recipe with `KEY=VALUE` settings in it, and every file of it.

    Pure: looks at no machine and no clock, unless the caller's own `refusals` do.
    Raises: UsageError for a setting that does not hold; ProblemsError with everything that cannot be launched so.
    """
    with placed_in(located):
        changed = changed_by(located.recipe, (*_site_overrides(profile), *(parsed_setting(text) for text in settings)))
    if changed.problems:
        without_command = (*override_problems(located, changed), *gpu_refusals(changed.recipe, profile))
        raise ProblemsError(*in_order(placed(problem, located) for problem in without_command))
    with placed_in(located):
        found = model(changed.recipe.model)
        made = command(changed.recipe, found, changed.origins)
    launch = Launch(
        recipe=changed.recipe,
        model=found,
        command=made,
        profile=profile,
        sft_data=sft_data,
        allow_shell_env=allow_shell_env,
    )
    refused = (
        *override_problems(located, changed),
        *gpu_refusals(changed.recipe, profile),
        *checkpoint_warnings(launch),
        *target.refusals(launch),
        *refusals(launch),
    )
    problems = in_order(placed(problem, located) for problem in refused)
    if errors_in(problems):
        raise ProblemsError(*problems)
    return Prepared(
        target=target,
        launch=launch,
        launched=as_launched(located, changed.recipe) if changed.deviations else located,
        deviations=changed.deviations,
        rendered=target.render(launch),
        warnings=problems,
    )


def _site_overrides(profile: Profile) -> Iterator[Override]:
    """What the site sets, as changes of the recipe; the caller's own come after them and win."""
    for name, text in profile.env.items():
        yield Override(key=f"env.{name}", text=text, source=profile.title)
    for name, value in profile.arguments.items():
        yield Override(key=f"arguments.{name}", text=shown(value), source=profile.title)
