"""Whether a file is the recipe that a run keeps as it was launched, which nobody writes to any more.

refuse_as_launched(located)     before a run or a test is paid for whose result could not be written
"""

from pathlib import Path

from openrecipes.problems import Problem, ProblemsError
from openrecipes.recipe.read import LocatedRecipe
from openrecipes.runs.directory import RunDirectory


def refuse_as_launched(located: LocatedRecipe) -> None:
    """Nothing, where the recipe's file may be written.

    Raises: ProblemsError if it is `recipe.yaml` of a run directory: run.json holds its hash, so that a change would
    take the run's evidence away.
    """
    path = Path(located.file).resolve()
    run = RunDirectory(root=path.parent)
    if path != run.recipe or not run.record_file.is_file():
        return
    mend = "name the recipe that it was launched from"
    if run.recipe_with_result.is_file():
        mend += f", or the run's own copy for results: {Path(located.file).parent / run.recipe_with_result.name}"
    what = "is the recipe as the run had it, and run.json holds its hash: with a change the run would prove nothing"
    raise ProblemsError(Problem(place=located.place(), rule="write-as-launched", what=what, mend=mend))
