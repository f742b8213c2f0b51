"""The command of a recipe: environment and arguments as data, and the text that recipes publish."""

from collections.abc import Container, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from openrecipes.catalog.models import Model
from openrecipes.problems import ProblemsError
from openrecipes.recipe.model import Recipe
from openrecipes.render.argument import Argument, EnvironmentValue, Line
from openrecipes.render.environment import environment, shell_word
from openrecipes.render.layout_arguments import degree_lines, gpu_lines, memory_lines, microbatch_lines
from openrecipes.render.model_arguments import model_line
from openrecipes.render.refusals import refusals
from openrecipes.render.settings import laid_over, settings
from openrecipes.render.smoke_arguments import smoke_lines
from openrecipes.render.training_arguments import (
    batch_lines,
    checkpoint_lines,
    default_lines,
    loss_lines,
    precision_lines,
    rollout_line,
    rows_lines,
    train_only_lines,
)

__all__ = ["Argument", "Command", "EnvironmentValue", "Line", "command", "command_text"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Command:
    """What is launched: a recipe's trainer, or the converter of its checkpoint.

    `lines` hold the arguments as the published form groups them.
    """

    trainer: Literal["slime", "smoke", "converter"]
    launcher: tuple[str, ...]
    entry: str
    environment: tuple[EnvironmentValue, ...]
    lines: tuple[Line, ...]

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """Every argument in order, MODEL_ARGS expanded."""
        return tuple(argument for line in self.lines for argument in line.arguments)

    @property
    def model_arguments(self) -> tuple[Argument, ...]:
        """Only what the published form writes as MODEL_ARGS."""
        return tuple(argument for line in self.lines if line.stands_for for argument in line.arguments)

    def without(self, flags: Container[str]) -> "Command":
        """The command without these flags."""
        lines = (
            replace(line, arguments=tuple(argument for argument in line.arguments if argument.flag not in flags))
            for line in self.lines
        )
        return replace(self, lines=tuple(line for line in lines if line.arguments))

    def argv(self) -> tuple[str, ...]:
        """The entry, then every flag and value as an item of its own."""
        return (self.entry, *(item for argument in self.arguments for item in argument.argv))


def command(recipe: Recipe, model: Model, origins: Mapping[str, str] | None = None) -> Command:
    """What the recipe's fields launch; `origins` says where a key's value came from, where not from the recipe.

    Raises: ProblemsError with everything that the trainer's flags cannot say; its places name keys, no file.
    """
    found = refusals(recipe, model)
    if found:
        raise ProblemsError(*found)
    made = unrefused(recipe, model)
    return _with_origins(made, origins) if origins else made


def unrefused(recipe: Recipe, model: Model) -> Command:
    """The command of fields that were looked at already: of what `command` refuses, it may say anything."""
    return _smoke(recipe) if recipe.trainer == "smoke" else _slime(recipe, model)


def command_text(recipe: Recipe, model: Model) -> str:
    """The command as `run` publishes it, from the fields alone.

    Raises: ProblemsError as `command`.
    """
    return text_of(command(recipe, model))


def text_of(made: Command) -> str:
    """A command in the published form: exports, a blank line, the entry and its lines of flags."""
    exports = "".join(f"export {value.name}={shell_word(value)}\n" for value in made.environment)
    lines = " \\\n  ".join((start_of(made), *(line.text for line in made.lines)))
    return (exports + "\n" if exports else "") + lines + "\n"


def start_of(made: Command) -> str:
    """What stands before the flags in the published form."""
    if made.trainer == "slime":
        # slime has no such module and no such flag: this is how recipes publish the choice of train_async.py.
        return "python3 -m <slime entry module> --async"
    return " ".join((*made.launcher, made.entry))


def _slime(recipe: Recipe, model: Model) -> Command:
    lines = (
        *gpu_lines(recipe),
        model_line(recipe, model),
        *checkpoint_lines(),
        rollout_line(),
        *rows_lines(),
        *batch_lines(recipe),
        *loss_lines(),
        *train_only_lines(),
        *degree_lines(recipe),
        *memory_lines(recipe),
        *microbatch_lines(recipe),
        *precision_lines(recipe),
        *default_lines(),
    )
    return Command(
        trainer="slime",
        launcher=("python3",),
        entry="train_async.py",
        environment=environment(recipe.env),
        lines=laid_over(lines, settings(recipe.arguments)),
    )


def _smoke(recipe: Recipe) -> Command:
    return Command(
        trainer="smoke",
        launcher=("torchrun", "--standalone", "--nproc-per-node", str(recipe.gpu.count)),
        entry="smoke_sft.py",
        environment=environment(recipe.env),
        lines=laid_over(smoke_lines(recipe), settings(recipe.arguments)),
    )


def _with_origins(made: Command, origins: Mapping[str, str]) -> Command:
    lines = tuple(
        replace(line, arguments=tuple(replace(a, origin=_origin(a.origin, origins)) for a in line.arguments))
        for line in made.lines
    )
    values = tuple(replace(value, origin=_origin(value.origin, origins)) for value in made.environment)
    return replace(made, lines=lines, environment=values)


def _origin(key: str, origins: Mapping[str, str]) -> str:
    """Where a key's value came from; of a quotient of keys, each."""
    return " / ".join(origins.get(part, part) for part in key.split(" / "))
