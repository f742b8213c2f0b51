"""What rules look at: one located recipe, and what the catalogue knows about what it names."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from openrecipes.catalog.arguments import Parser, stack_id_of, stack_ids, stack_parser
from openrecipes.catalog.gpus import Gpu, find_gpu
from openrecipes.catalog.model_parts import Shape
from openrecipes.catalog.models import Model, model
from openrecipes.check.argument_faults import Flags, argument_faults
from openrecipes.check.flag_values import FlagFault
from openrecipes.check.gaps import filled, is_unread, unknown_flags
from openrecipes.check.invocation import Invocation, invocation
from openrecipes.check.shell_script import Script, read_script
from openrecipes.problems import Problem, ProblemsError, in_order
from openrecipes.recipe.model import Recipe
from openrecipes.recipe.read import LocatedRecipe
from openrecipes.render.command import Command, unrefused
from openrecipes.render.refusals import looks
from openrecipes.render.settings import settings
from openrecipes.render.smoke_arguments import smoke_parser

Value = TypeVar("Value")


@dataclass(frozen=True, kw_only=True)
class Subject:
    """One recipe under check. Facts are looked up once, when a rule first asks; None where there are none."""

    located: LocatedRecipe

    @property
    def recipe(self) -> Recipe:
        """The recipe; fields that could not be read are absent."""
        return self.located.recipe

    def written(self, key: str) -> str:
        """The value of a key as the file writes it."""
        return self.located.document.written(key) or "null"

    @cached_property
    def gpu(self) -> Gpu | None:
        """The catalogue's entry of gpu.type."""
        name = getattr(getattr(self.recipe, "gpu", None), "type", None)
        return find_gpu(name) if name else None

    @cached_property
    def model(self) -> Model | None:
        """The catalogue's entry of model."""
        return self._looked_up if isinstance(self._looked_up, Model) else None

    @property
    def model_problem(self) -> Problem | None:
        """Why there is no such entry."""
        return self._looked_up if isinstance(self._looked_up, Problem) else None

    @cached_property
    def _looked_up(self) -> Model | Problem | None:
        name = getattr(self.recipe, "model", None)
        try:
            return model(name) if name else None
        except ProblemsError as error:
            return error.problems[0]

    @cached_property
    def shape(self) -> Shape | None:
        """The model's sizes."""
        return self.model.shape if self.model else None

    @cached_property
    def parser(self) -> Parser | None:
        """The trainer's flags: of the stack that the recipe names, of the first known one where it names none.

        None for a stack whose flags are not known, or that could not be read.
        """
        if any(self.is_unread(key) for key in ("trainer", "stack.framework", "stack.megatron_lm")):
            return None
        stack = self.recipe.stack
        if self.recipe.trainer == "smoke":
            return smoke_parser()
        if stack.framework is None:
            return stack_parser(stack_ids()[0])
        found = stack_id_of(stack.framework, stack.megatron_lm or "")
        return stack_parser(found) if found else None

    @cached_property
    def script(self) -> Script:
        """The text of `run`, read as a shell would."""
        return read_script(self.recipe.run)

    @cached_property
    def invocation(self) -> Invocation | None:
        """The one command of `run`; None where the text is no sound command."""
        if self.script.faults or len(self.script.commands) != 1:
            return None
        return invocation(self.script.commands[0])

    @cached_property
    def refusals(self) -> tuple[Problem, ...]:
        """Why the fields have no command; their places name keys alone. Of a recipe with gaps, what can be told."""
        model = self.model
        if model is None:
            return ()
        found = (problem for look in looks(self.recipe, model) for problem in self._as_far_as_read(look))
        return in_order(problem for problem in found if not self._lacks_entries_of(problem))

    @cached_property
    def unknown_flags(self) -> frozenset[str]:
        """Flags of which the fields say nothing, since what decides them could not be read."""
        return unknown_flags(self.located)

    @cached_property
    def command(self) -> Command | None:
        """The command that the fields give, without the unknown flags; None where they give none."""
        model = self.model
        if model is None or self.refusals or not hasattr(self.recipe, "arguments"):
            return None
        if self.located.complete:
            return unrefused(self.recipe, model)
        made = self._unless_unread(lambda: unrefused(filled(self.recipe), model), None)
        return made.without(self.unknown_flags) if made else None

    @property
    def has_whole_command(self) -> bool:
        """Whether every flag and every variable of the command is known."""
        return self.command is not None and not self.unknown_flags and not self.is_unread("env")

    def is_unread(self, key: str) -> bool:
        """Whether a field, or a part of it, could not be read."""
        return is_unread(self.located, key)

    @cached_property
    def argument_faults(self) -> tuple[FlagFault, ...]:
        """What the trainer's parser would refuse or drop, and flags that do not go together."""
        if self.parser is None:
            return ()
        qwen35 = self.model is not None and self.model.model_type.startswith("qwen3_5")
        return argument_faults(
            Flags(
                parser=self.parser,
                settings=self._unless_unread(lambda: settings(self.recipe.arguments), ()),
                run=self._unless_unread(lambda: self.invocation, None),
                command=self.command,
                unknown=self.unknown_flags,
                loss_mask="qwen3_5" if qwen35 else None,
            )
        )

    @cached_property
    def faulty_flags(self) -> frozenset[str]:
        """Flags of `run` that have a fault of their own, so that no other rule complains of them."""
        return frozenset(fault.flag for fault in self.argument_faults if fault.key == "run")

    def run_line(self, index: int) -> int:
        """The file's line that holds line `index`, from 0, of `run`."""
        return self.located.document.line_within("run", index)

    def _as_far_as_read(self, look: Iterator[Problem]) -> Iterator[Problem]:
        """The problems before the first that needs a field that could not be read."""
        try:
            yield from look
        except AttributeError:
            if self.located.complete:
                raise

    def _lacks_entries_of(self, problem: Problem) -> bool:
        """Whether what offloading lacks may stand in an entry that could not be read."""
        mapping = {"render-offload-modules": "arguments", "render-offload-env": "env"}.get(problem.rule)
        return mapping is not None and bool(self.located.unread_in(mapping))

    def _unless_unread(self, compute: Callable[[], Value], otherwise: Value) -> Value:
        """The computed value; `otherwise` where it needs a field that could not be read."""
        try:
            return compute()
        except AttributeError:
            if self.located.complete:
                raise
            return otherwise
