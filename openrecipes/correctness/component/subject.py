"""What a component test is about: a model, the degrees that cut its tensors, and the optimizer's values."""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Final

from openrecipes.catalog.model_parts import Shape
from openrecipes.catalog.models import Model, model
from openrecipes.problems import Place, Problem, ProblemsError
from openrecipes.recipe.model import Recipe
from openrecipes.render.argument import Argument
from openrecipes.render.command import command
from openrecipes.render.training_arguments import default_lines

DEFAULT_MODEL: Final = "Qwen3.5-397B-A17B"
_PUBLISHED_TOKENS: Final = 4096  # tokens a rank of the published component tests: 8,192-token rows over TP 2


@dataclass(frozen=True, kw_only=True, slots=True)
class AdamValues:
    """Adam's values as the trainer's flags give them."""

    lr: float
    beta1: float
    beta2: float
    eps: float
    weight_decay: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Subject:
    """A model as one rank holds it. tokens are those that a rank sees in one microbatch."""

    model: Model
    tp: int = 2
    ep: int = 8
    etp: int = 1
    tokens: int = _PUBLISHED_TOKENS
    adam: AdamValues

    @property
    def shape(self) -> Shape:
        """The model's sizes."""
        return self.model.shape

    @property
    def local_experts(self) -> int:
        """Experts that one rank holds; 0 for a dense model."""
        return (self.shape.num_experts or 0) // self.ep


@dataclass(frozen=True, kw_only=True, slots=True)
class Degrees:
    """Degrees asked for by hand; None: as the recipe has them, or the default."""

    tp: int | None = None
    ep: int | None = None
    etp: int | None = None


def subject_of_model(name: str, asked: Degrees) -> Subject:
    """The subject at the published optimizer values.

    Raises: UsageError for an unknown model; ProblemsError if a degree does not divide what it cuts.
    """
    arguments = tuple(argument for line in default_lines() for argument in line.arguments)
    return _checked(Subject(model=model(name), adam=_adam(arguments), **_given(asked)))


def subject_of_recipe(recipe: Recipe, asked: Degrees) -> Subject:
    """The subject as the recipe cuts the model and sets its optimizer.

    Raises: UsageError for an unknown model; ProblemsError if the recipe cannot be rendered, or a degree does not
    divide what it cuts, or the learning rate is 0.
    """
    layout, found = recipe.layout, model(recipe.model)
    own = {"tp": layout.tp, "ep": layout.ep, "etp": layout.etp}
    row_tokens = recipe.workload.row_tokens * (layout.rows_per_microbatch or 1)
    tokens = max(1, row_tokens // (layout.cp * (layout.tp if layout.sequence_parallel else 1)))
    adam = _adam(command(recipe, found).arguments)
    return _checked(Subject(model=found, adam=adam, tokens=tokens, **(own | _given(asked))))


def _given(asked: Degrees) -> dict[str, int]:
    values = {field.name: getattr(asked, field.name) for field in fields(asked)}
    return {name: value for name, value in values.items() if value is not None}


def _adam(arguments: Iterable[Argument]) -> AdamValues:
    """Adam's values from the flags; what no flag says is the trainer's default."""
    said = {argument.flag: argument.values[0] for argument in arguments if argument.values}
    return AdamValues(
        lr=float(said["--lr"]),
        beta1=float(said.get("--adam-beta1", "0.9")),
        beta2=float(said.get("--adam-beta2", "0.999")),
        eps=float(said.get("--adam-eps", "1e-8")),
        weight_decay=float(said.get("--weight-decay", "0.01")),
    )


def _checked(subject: Subject) -> Subject:
    problems = tuple(problem for problem in _problems(subject))
    if problems:
        raise ProblemsError(*problems)
    return subject


def _problems(subject: Subject) -> Iterable[Problem]:
    shape = subject.shape
    cuts = (
        ("ep", subject.ep, shape.num_experts, "experts"),
        ("etp", subject.etp, shape.moe_ffn_hidden_size, "columns of an expert"),
    )
    for key, degree, number, what in cuts:
        if number is not None and number % degree:
            yield _problem(
                key,
                f"component-{key}",
                f"{degree} does not divide the {number} {what} of {subject.model.name}",
                f"use a divisor of {number}",
            )
    if subject.adam.lr <= 0:
        yield _problem(
            "lr", "component-lr", f"{subject.adam.lr:g}: no update, so nothing to judge", "use a rate above 0"
        )


def _problem(key: str, rule: str, what: str, mend: str) -> Problem:
    return Problem(place=Place(key=key), rule=rule, what=what, mend=mend)
