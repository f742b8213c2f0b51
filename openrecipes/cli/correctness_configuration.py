"""`correctness configuration CANDIDATE REFERENCE`."""

from typing import Annotated

import typer

from openrecipes.cli import output
from openrecipes.cli.configuration_page import configuration_page
from openrecipes.cli.configuration_sides import side_named
from openrecipes.cli.names import recipe_named
from openrecipes.correctness.configuration import configuration as compared
from openrecipes.correctness.own_run import differences_from_recipe
from openrecipes.problems import Place, Problem, ProblemsError, errors_in, in_order, together
from openrecipes.recipe.write import plain
from openrecipes.write_back.correctness_parts import with_configuration
from openrecipes.write_back.write_result import write_block

_LOG = "Log of its run: judge the arguments that the trainer printed."


def configuration(
    candidate: Annotated[str, typer.Argument(help="The recipe to judge, a run directory of it, or a log.")],
    reference: Annotated[
        str, typer.Argument(help="The recipe that it is held against, a run directory of it, or a log.")
    ],
    *,
    candidate_log: Annotated[str | None, typer.Option(metavar="LOG", help=_LOG)] = None,
    reference_log: Annotated[str | None, typer.Option(metavar="LOG", help=_LOG)] = None,
    everything: Annotated[bool, typer.Option("--all", help="Show what is equal too.")] = False,
    write: Annotated[bool, typer.Option("--write", help="Write the verdict into the candidate's file.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the comparison as one JSON document.")] = False,
) -> None:
    """Compare two recipes argument by argument: equal, neutral, tolerated, another workload, forbidden, unknown.

    Example: openrecipes correctness configuration my.yaml qwen3.5-397b-a17b/h200/attune-tp1-pp4-ep32
    """
    located, one, other = together(
        lambda: recipe_named(candidate) if write else None,
        lambda: side_named(candidate, candidate_log),
        lambda: side_named(reference, reference_log),
    )
    found = compared(one, other)
    document = found.document()
    notes = in_order(note for side in (found.candidate, found.reference) for note in differences_from_recipe(side))
    if errors_in(notes) and located:
        raise ProblemsError(*notes)
    if located and found.not_compared:
        raise ProblemsError(_not_whole(reference))
    document["problems"] = [note.document() for note in notes]
    if located:
        block = with_configuration(located.recipe.correctness, found.result, found.evidence())
        written = write_block(located, "correctness", plain(block))
        document["written"] = {"file": written.file, "changed": written.changed}
        output.say(f"{written.file}: correctness {'written' if written.changed else 'as it was'}")
    output.result(document, as_json=json, text=configuration_page(found, everything=everything))
    output.problems(notes)
    raise typer.Exit(0 if found.passed else 1)


def _not_whole(reference: str) -> Problem:
    return Problem(
        place=Place(file=reference),
        rule="configuration-recipe",
        what="a log alone tells neither environment nor rows, so that this is no evidence for a recipe",
        mend="name the recipe that ran, and the log by --reference-log",
    )
