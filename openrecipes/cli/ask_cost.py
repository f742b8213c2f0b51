"""Asks before money is spent."""

import typer

from openrecipes.catalog.prices import default_price
from openrecipes.cli import output
from openrecipes.problems import Problem, ProblemsError
from openrecipes.recipe.read import LocatedRecipe

# A run of the published recipes costs about $500; nobody is asked about a cup of coffee.
ASK_ABOVE_USD = 50.0


def ask_cost(recipe: LocatedRecipe, *, agreed: bool) -> None:
    """Nothing, if the recipe's own run cost little or is not known to have cost much, or the caller agrees.

    Raises: ProblemsError where nobody can be asked; typer.Abort where the answer is no.
    """
    instance, hours = recipe.recipe.gpu.instance, recipe.recipe.result.gpu_hours
    price = default_price(instance) if instance else None
    if price is None or hours is None or agreed:
        return
    usd = hours * price.usd_per_gpu_hour
    if usd < ASK_ABOVE_USD:
        return
    what = f"its own run took {hours:,.1f} GPU-hours, ${usd:,.0f} at ${price.usd_per_gpu_hour:.2f} each ({price.id})"
    if not output.is_terminal():
        place, mend = recipe.place("result.gpu_hours"), "add --yes to run it all the same"
        raise ProblemsError(Problem(place=place, rule="run-cost", what=what, mend=mend))
    typer.confirm(f"{what}. Run it?", abort=True, err=True)
