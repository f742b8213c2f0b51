"""The whole loop of `run`: check, rows, render, launch, follow, score, write back."""

from dataclasses import dataclass

from openrecipes.cli import output
from openrecipes.cli.launching import Asked, begun, ready_to_launch, start, stay
from openrecipes.cli.run_page import shown_path
from openrecipes.problems import Problem, ProblemsError
from openrecipes.runs.directory import RunDirectory
from openrecipes.runs.json_files import write_atomically, write_json
from openrecipes.runs.record import RunRecord
from openrecipes.score.expected import expected_of
from openrecipes.score.run_evidence import read_run
from openrecipes.score.score import score
from openrecipes.score.scorecard import Scorecard
from openrecipes.targets.rendering import Prepared
from openrecipes.targets.run_book import RunBook
from openrecipes.write_back.as_launched import refuse_as_launched
from openrecipes.write_back.write_result import text_with_result, write_result


@dataclass(frozen=True, kw_only=True, slots=True)
class Ran:
    """A run that has ended. `card` is None unless it completed; a card may still be refused.

    `problems` are the card's, and why the result could not be written where that was asked for.
    """

    run: RunDirectory
    record: RunRecord
    card: Scorecard | None
    problems: tuple[Problem, ...]

    @property
    def is_scored(self) -> bool:
        """Whether there is a result."""
        return self.card is not None and not self.card.is_refused


def whole_loop(asked: Asked, *, write: bool) -> Ran:
    """The run, ended and scored; `write` puts its result into the recipe's own file too.

    Raises: ProblemsError, and neither starts nor makes anything, if the recipe is unsound or cannot run there.
    """
    if write:
        refuse_as_launched(asked.recipe)
    ready = ready_to_launch(asked)
    book = begun(asked, ready)
    stay(book, start(book, ready), ready.launched)
    if not book.record.has_ended:
        directory = shown_path(book.run.root)
        follow, then = f"openrecipes launch --attach {directory}", f"openrecipes score {asked.recipe.file} {directory}"
        output.say(f"the job goes on without us; follow it with `{follow}`, then `{then}`")
    card = _scored(book, ready) if book.record.outcome == "completed" else None
    unwritten = _written(asked, ready, card) if card and not card.is_refused and write else ()
    return Ran(run=book.run, record=book.record, card=card, problems=(*(card.problems if card else ()), *unwritten))


def _written(asked: Asked, ready: Prepared, card: Scorecard) -> tuple[Problem, ...]:
    """Writes the result into the recipe's own file; why not, where it cannot be: the run has its result anyway."""
    try:
        written = write_result(asked.recipe, card.result(), launched=ready.launch.recipe)
    except ProblemsError as error:
        return error.problems
    output.say(f"{written.file}: result {'written' if written.changed else 'as it was'}")
    return ()


def _scored(book: RunBook, ready: Prepared) -> Scorecard:
    """The score of the completed run, its result beside it where there is one."""
    run = book.run
    card = score(expected_of(ready.launch.recipe), read_run(str(run.root)))
    if not card.is_refused:
        write_json(run.result, card.document())
        write_atomically(run.recipe_with_result, text_with_result(ready.launched, card.result()).encode())
    return card
