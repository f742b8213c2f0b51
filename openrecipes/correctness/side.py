"""One side of the configuration check: a recipe and what its run has in effect, or a log alone."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from openrecipes.catalog.arguments import ArgumentCatalogue, argument_catalogue, stack_id_of, stack_ids
from openrecipes.catalog.models import Model, model
from openrecipes.correctness.argument_values import NONE, canonical, number, whole
from openrecipes.correctness.effective_arguments import Effective, of_dump, of_recipe
from openrecipes.problems import Place, Problem, ProblemsError
from openrecipes.recipe.model import Recipe

NOT_STATED: Final = "not stated"
_VARIABLE: Final = re.compile(r"""['"]([A-Za-z_][A-Za-z0-9_]{0,200})['"]\s*:\s*['"]([^'"]{0,2000})['"]""")


@dataclass(frozen=True, kw_only=True, slots=True)
class Side:
    """A recipe by its name, its effective arguments, and those that its model's own config asks for.

    `recipe` is None where only a log is known, which tells neither environment nor rows.
    """

    name: str
    recipe: Recipe | None
    effective: Effective
    catalogue: ArgumentCatalogue
    of_the_model: Mapping[str, str]

    @property
    def environment(self) -> Mapping[str, str]:
        """The recipe's variables, as it writes them, and those that an argument of slime sets in the actors."""
        return {**(self.recipe.env if self.recipe else {}), **self.variables_of_the_actors}

    @property
    def variables_of_the_actors(self) -> Mapping[str, str]:
        """Variables that --train-env-vars sets."""
        return dict(_VARIABLE.findall(self.text("train_env_vars")))

    @property
    def gpus(self) -> int:
        """GPUs of the run, as its arguments say, else its recipe."""
        return self.whole("world_size") or (self.recipe.gpu.count if self.recipe else 1)

    @property
    def workload(self) -> Mapping[str, str]:
        """What is trained on, where no argument of the trainer says it; by the recipe's key. Empty for a log."""
        if self.recipe is None:
            return {}
        recipe, work = self.recipe, self.recipe.workload
        return {
            "model": recipe.model,
            "trainer": recipe.trainer,
            "workload.row_tokens": str(work.row_tokens),
            "workload.global_batch": str(work.global_batch),
            "workload.precision": work.precision,
            "workload.dataset.build.name": work.dataset.build.name,
            "workload.dataset.rows_sha256": work.dataset.rows_sha256 or NOT_STATED,
            "workload.dataset.build.loss_mask": work.dataset.build.loss_mask,
            "result.weights": recipe.result.weights or "pretrained",
        }

    def text(self, name: str) -> str:
        """An attribute's canonical text; `None` where it is not there."""
        return self.effective.value(name) or NONE

    def whole(self, name: str) -> int | None:
        """An attribute as a whole number, or None."""
        return whole(self.effective.value(name))

    def number(self, name: str) -> float | None:
        """An attribute as a number, or None."""
        return number(self.effective.value(name))

    def is_on(self, name: str) -> bool:
        """Whether an attribute is true."""
        return self.effective.value(name) == "True"


def side_of(recipe: Recipe, *, name: str, dump: Mapping[str, str] | None = None, log: str = "") -> Side:
    """A recipe's side; with a log's argument dump, by what its run printed.

    Raises: ProblemsError for a recipe whose trainer has no classes, whose stack's parser is not known, or whose fields
    give no command; and for a log without a dump.
    """
    catalogue = _catalogue(recipe)
    found = model(recipe.model)
    effective = of_recipe(recipe, found, catalogue, source=name) if dump is None else _printed(dump, log)
    return Side(
        name=name,
        recipe=recipe,
        effective=effective,
        catalogue=catalogue,
        of_the_model=_of_the_model(found, catalogue),
    )


def side_of_log(dump: Mapping[str, str], log: str) -> Side:
    """The side of a log whose recipe is not known, by the first known parser.

    Raises: ProblemsError for a log without a dump.
    """
    effective = _printed(dump, log)
    return Side(
        name=log,
        recipe=None,
        effective=effective,
        catalogue=argument_catalogue(stack_ids()[0]),
        of_the_model={},
    )


def _printed(dump: Mapping[str, str], log: str) -> Effective:
    if dump:
        return of_dump(dump, source=log)
    raise _refused(
        Place(file=log),
        "configuration-dump",
        "the log holds no argument dump of Megatron-LM",
        "name the log of the node that prints it, or compare the recipes alone",
    )


def _catalogue(recipe: Recipe) -> ArgumentCatalogue:
    if recipe.trainer != "slime":
        raise _refused(
            Place(key="trainer"),
            "configuration-trainer",
            f"{recipe.trainer} tests the harness, and its arguments have no classes",
            "compare recipes of the trainer slime",
        )
    stack = recipe.stack
    if stack.framework is None:
        return argument_catalogue(stack_ids()[0])
    stack_id = stack_id_of(stack.framework, stack.megatron_lm or "")
    if stack_id is None:
        raise _refused(
            Place(key="stack.framework"),
            "configuration-stack",
            f"{stack.framework} with Megatron-LM {stack.megatron_lm or 'unnamed'} is no stack whose parser is known",
            f"name the commits of one of {', '.join(stack_ids())}, or take a snapshot: openrecipes arguments snapshot",
        )
    return argument_catalogue(stack_id)


def _of_the_model(found: Model, catalogue: ArgumentCatalogue) -> Mapping[str, str]:
    by_flag = {flag: argument for argument in catalogue.arguments for flag in argument.flags}
    asked = ((by_flag.get(argument.flag), argument.values) for argument in found.architecture_arguments())
    return {
        known.dest: canonical(
            values if known.nargs is not None else values[-1] if values else known.action != "store_false"
        )
        for known, values in asked
        if known is not None
    }


def _refused(place: Place, rule: str, what: str, mend: str) -> ProblemsError:
    return ProblemsError(Problem(place=place, rule=rule, what=what, mend=mend))
