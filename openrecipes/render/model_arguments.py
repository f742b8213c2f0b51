"""MODEL_ARGS: the model's architecture from its catalogue entry, and the recipe's performance choices."""

from typing import Final

from openrecipes.catalog.models import Model
from openrecipes.recipe.model import Recipe
from openrecipes.render.argument import Argument, Line
from openrecipes.render.settings import settings
from openrecipes.render.summary import PERMUTE_FUSION, lists

MODEL_ARGS: Final = "${MODEL_ARGS[@]}"
CONVENTION: Final = "slime convention"
INFERRED: Final = "inferred from layout.summary"


def model_line(recipe: Recipe, model: Model) -> Line:
    """All of MODEL_ARGS, architecture first; the published form writes the name of the array."""
    architecture = (
        Argument(flag=argument.flag, values=argument.values, origin=f"{model.name}: {argument.origin}")
        for argument in model.architecture_arguments()
    )
    return Line(arguments=(*architecture, *performance_arguments(recipe, model)), stands_for=MODEL_ARGS)


def performance_arguments(recipe: Recipe, model: Model) -> tuple[Argument, ...]:
    """How the experts are computed and reached; nothing for a dense model.

    Flags that `arguments` names stand here too, so that they keep their place in MODEL_ARGS.
    """
    if model.shape.num_experts is None:
        return ()
    found = [Argument(flag="--moe-grouped-gemm", origin=f"{CONVENTION}: its scripts of MoE models pass it")]
    named = {setting.flag for setting in settings(recipe.arguments)}
    if "--moe-permute-fusion" in named or lists(recipe.layout.summary, PERMUTE_FUSION):
        found.append(Argument(flag="--moe-permute-fusion", origin=INFERRED))
    dispatcher = recipe.layout.dispatcher
    if dispatcher is not None:
        found.append(
            Argument(flag="--moe-token-dispatcher-type", values=(dispatcher,), origin="layout.dispatcher"),
        )
    if dispatcher == "flex":
        # The older --moe-enable-deepep means the same and warns that it is deprecated.
        found.append(Argument(flag="--moe-flex-dispatcher-backend", values=("deepep",), origin="layout.dispatcher"))
    return tuple(found)


def notes(recipe: Recipe, model: Model) -> tuple[str, ...]:
    """What MODEL_ARGS has or lacks by inference, in words."""
    named = {setting.flag for setting in settings(recipe.arguments)}
    if recipe.trainer != "slime" or model.shape.num_experts is None or "--moe-permute-fusion" in named:
        return ()
    listed = lists(recipe.layout.summary, PERMUTE_FUSION)
    has, lists_ = ("has", "lists") if listed else ("lacks", "does not list")
    return (
        f"MODEL_ARGS {has} --moe-permute-fusion: inferred from layout.summary, which {lists_} it; "
        "moe_permute_fusion in arguments would say so",
    )


def fixed_flags(model: Model) -> frozenset[str]:
    """Flags whose value follows from the model's config; a convention of slime's scripts may be overridden."""
    return frozenset(
        argument.flag for argument in model.architecture_arguments() if not argument.origin.startswith(CONVENTION)
    )
