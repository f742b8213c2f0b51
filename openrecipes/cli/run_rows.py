"""The rows that a run trains on: built for it, or given and verified.

What reads and writes rows is imported where there are rows at hand: numpy and pyarrow take a third of a launch's start.
"""

from pathlib import Path

from openrecipes.problems import Problem, ProblemsError, UsageError
from openrecipes.recipe.read import LocatedRecipe
from openrecipes.runs.directory import RunDirectory
from openrecipes.runs.record import RowsUsed
from openrecipes.shipped import shipped


def given_rows(file: Path, recipe: LocatedRecipe) -> tuple[RowsUsed, tuple[Problem, ...]]:
    """The rows in a file, which must be what the recipe says; and warnings.

    Raises: UsageError if there is no such file, or no manifest beside it; ProblemsError with everything that is wrong.
    """
    from openrecipes.rows.against_recipe import compared  # noqa: PLC0415
    from openrecipes.rows.verify import verify  # noqa: PLC0415

    found = compared(file, verify(file), recipe)
    if not found.ok or found.rows_sha256 is None:
        raise (UsageError if found.exit_status == UsageError.exit_status else ProblemsError)(*found.problems)
    used = RowsUsed(
        path=str(file.resolve()),
        rows=found.rows,
        row_tokens=found.row_tokens,
        rows_sha256=found.rows_sha256,
        parquet_sha256=found.parquet_sha256,
    )
    return used, found.problems


def refuse_far_source(recipe: LocatedRecipe) -> None:
    """Nothing, if the recipe's conversations lie on this machine, so that its rows can be built for a run.

    Raises: UsageError if they must be fetched first.
    """
    source = recipe.recipe.workload.dataset.source
    if Path(source).exists() or shipped(source).exists():
        return
    what = f"{source} is not on this machine, and a run does not download a dataset by itself"
    mend = f"openrecipes data build --recipe {recipe.file} -o rows.parquet, then add --sft-data rows.parquet"
    place = recipe.place("workload.dataset.source")
    raise UsageError(Problem(place=place, rule="run-rows", what=what, mend=mend))


def built_rows(recipe: LocatedRecipe, run: RunDirectory) -> RowsUsed:
    """Rows built from the recipe's conversations into the run directory, and the same as its rows_sha256 if it has one.

    Raises: ProblemsError if the conversations give too few rows, or others than the recipe was measured with.
    """
    from openrecipes.cli.rows_page import rows_progress  # noqa: PLC0415
    from openrecipes.rows.build import build  # noqa: PLC0415
    from openrecipes.rows.named_source import named_source  # noqa: PLC0415
    from openrecipes.rows.recipe_rows import recipe_settings  # noqa: PLC0415

    settings = recipe_settings(recipe)
    dataset = recipe.recipe.workload.dataset
    run.rows.parent.mkdir()
    with rows_progress(settings) as progress:
        build(named_source(dataset.source, dataset.revision), settings, run.rows, progress=progress)
    used, _ = given_rows(run.rows, recipe)
    return used.model_copy(update={"path": run.rows.relative_to(run.root).as_posix()})
