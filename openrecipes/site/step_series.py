"""The steps of a published result: `<recipe>.steps.json` beside its recipe, tied to it by the log's hash.

published_series(file, recipe)   -> StepSeries or None, and what is wrong with the file
"""

from pathlib import Path
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from openrecipes.problems import Place, Problem
from openrecipes.recipe.block import Sha256
from openrecipes.recipe.model import Recipe

SUFFIX: Final = ".steps.json"
_MOST_BYTES: Final = 16 * 2**20
_MOST_STEPS: Final = 100_000
Number = Annotated[float, Field(ge=-1e18, le=1e18)]


class _Data(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Step(_Data):
    """One optimizer step, counted from 0."""

    step: Annotated[int, Field(ge=0, le=2**53)] = Field(description="Number of the step, from 0.")
    step_time_s: Annotated[float, Field(gt=0, le=1e9)] | None = Field(description="Wait + train. Unit: s.")
    loss: Number | None = Field(description="Loss as logged; null where the log has none.")


class LedgerPhase(_Data):
    """One phase of the job, or several that nothing tells apart."""

    names: tuple[str, ...] = Field(min_length=1, max_length=20, description="Names of the phases, in their order.")
    seconds: Annotated[float, Field(ge=0, le=1e9)] = Field(description="How long it took. Unit: s.")
    gpu_hours: Annotated[float, Field(ge=0, le=1e9)] = Field(description="What it cost. Unit: GPU-hours.")


class StepSeries(_Data):
    """What a log says of every step, and its job's record of where the GPU-hours went."""

    log_sha256: Sha256 = Field(description="sha256 of the raw log; equals the recipe's result.log_sha256.")
    steps: tuple[Step, ...] = Field(min_length=1, max_length=_MOST_STEPS, description="The steps, in order.")
    ledger: tuple[LedgerPhase, ...] | None = Field(description="Phases of the job; null for a bare log.")
    reference_log_sha256: Sha256 | None = Field(description="sha256 of the reference run's log; null without one.")
    reference_steps: tuple[Step, ...] | None = Field(description="The reference run's steps; null without one.")


def series_file(recipe_file: Path) -> Path:
    """Where the steps of a recipe's result lie."""
    return recipe_file.with_name(recipe_file.stem + SUFFIX)


def published_series(recipe_file: Path, recipe: Recipe) -> tuple[StepSeries | None, tuple[Problem, ...]]:
    """The steps beside a recipe, if they are those of its result; else None, and a warning where a file lies there."""
    path = series_file(recipe_file)
    try:
        if not path.is_file():
            return None, ()
        with path.open("rb") as stream:
            data = stream.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            return None, (_left_out(path, f"is larger than {_MOST_BYTES:,} bytes"),)
        series = StepSeries.model_validate_json(data)
    except OSError as error:
        return None, (_left_out(path, f"cannot be read: {error.strerror}"),)
    except ValidationError as error:
        place = ".".join(map(str, error.errors()[0]["loc"])) or "the file"
        return None, (_left_out(path, f"{place} is not as a file of steps has it"),)
    if series.log_sha256 != recipe.result.log_sha256:
        return None, (_left_out(path, f"is of log {series.log_sha256[:12]}, which is not the recipe's log_sha256"),)
    return series, ()


def _left_out(path: Path, what: str) -> Problem:
    mend = "write it again with `openrecipes site steps`, or delete it"
    return Problem(place=Place(file=str(path)), rule="steps-file", severity="warning", what=what, mend=mend)
