"""What a run will cost, as far as anything says; and asking before money is spent."""

import typer

from openrecipes import units
from openrecipes.catalog.prices import Price, default_price
from openrecipes.cli import output
from openrecipes.problems import Problem, ProblemsError
from openrecipes.recipe.model import Recipe
from openrecipes.recipe.read import LocatedRecipe
from openrecipes.targets.profile import Profile


def cost_in_words(measured: Recipe, launched: Recipe, profile: Profile) -> tuple[float, str] | None:
    """US dollars and how they come about; None for a recipe without a price.

    From the GPU-hours that the recipe's own run took, for as many steps as are to be launched; else for the whole
    time limit; else for one hour. `measured` is the recipe as its file has it, `launched` has the overrides in it.
    """
    price = price_of(launched)
    if price is None:
        return None
    hours, gpus = measured.result.gpu_hours, launched.gpu.count
    is_as_measured = (gpus, launched.gpu.type) == (measured.gpu.count, measured.gpu.type)
    at = f"at ${price.usd_per_gpu_hour:.2f} a GPU-hour ({price.id})"
    if hours is not None and is_as_measured:
        hours *= launched.result.steps_per_run / measured.result.steps_per_run
        usd = hours * price.usd_per_gpu_hour
        return usd, f"its own run says {hours:,.1f} GPU-hours, ${usd:,.0f} {at}"
    limit_s, usd_per_hour = profile.time_limit_seconds, gpus * price.usd_per_gpu_hour
    if limit_s is None:
        return (
            usd_per_hour,
            f"{units.counted(gpus, 'GPU')}, ${usd_per_hour:,.0f} an hour {at}, and nothing says how many hours",
        )
    usd = usd_per_hour * limit_s / 3600
    return usd, f"{units.counted(gpus, 'GPU')} for up to its time limit of {units.seconds(limit_s)}, ${usd:,.0f} {at}"


def price_of(recipe: Recipe) -> Price | None:
    """What the recipe's instance costs, by the catalogue's own price; None where there is none."""
    return default_price(recipe.gpu.instance) if recipe.gpu.instance else None


def ask_cost(recipe: LocatedRecipe, launched: Recipe, profile: Profile, *, agreed: bool) -> None:
    """Nothing, if the run costs less than the profile says to ask about, or the caller agrees.

    Raises: ProblemsError where nobody can be asked; typer.Abort where the answer is no.
    """
    found = cost_in_words(recipe.recipe, launched, profile)
    if found is None or agreed or found[0] < profile.ask_above_usd:
        return
    what = f"{found[1]}; above ${profile.ask_above_usd:,.0f} somebody must agree"
    if not output.is_terminal():
        key = "result.gpu_hours" if recipe.recipe.result.gpu_hours is not None else "gpu.count"
        mend = "add --yes to run it all the same"
        raise ProblemsError(Problem(place=recipe.place(key), rule="run-cost", what=what, mend=mend))
    typer.confirm(f"{what}. Run it?", abort=True, err=True)
