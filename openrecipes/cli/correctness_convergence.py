"""`correctness convergence CANDIDATE_LOG REFERENCE_LOG`."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from openrecipes.cli import output
from openrecipes.cli.convergence_page import convergence_page
from openrecipes.cli.names import recipe_named
from openrecipes.correctness.convergence import convergence as compared
from openrecipes.correctness.curve import Curve
from openrecipes.correctness.curve_image import check_image_file, write_image
from openrecipes.correctness.own_run import own_run_problems
from openrecipes.evidence.loss_curves import curve_named
from openrecipes.problems import ProblemsError, errors_in, together
from openrecipes.recipe.write import plain
from openrecipes.verdict.convergence_rules import BRIDGE_RULES, PIPELINE, bridge_rule
from openrecipes.write_back.correctness_parts import with_convergence
from openrecipes.write_back.write_result import write_block

_RUN = "a log, a directory of one run's logs, or a run directory"
_RULES = f"Threshold set that decides: {', '.join(BRIDGE_RULES)}."


def convergence(
    candidate_log: Annotated[str, typer.Argument(metavar="CANDIDATE_LOG", help=f"The run to judge: {_RUN}.")],
    reference_log: Annotated[str, typer.Argument(metavar="REFERENCE_LOG", help=f"The run it is held against: {_RUN}.")],
    *,
    frozen: Annotated[
        str | None,
        typer.Option(metavar="LOG", help="The reference recipe at learning rate 0, for the learning signal."),
    ] = None,
    repeat: Annotated[
        str | None, typer.Option(metavar="LOG", help="The reference run again: its distance from it is the noise.")
    ] = None,
    rule: Annotated[str, typer.Option(metavar="ID", help=_RULES)] = PIPELINE.name,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw both curves: .svg, or .png with matplotlib.")
    ] = None,
    write: Annotated[str | None, typer.Option(metavar="RECIPE", help="Write the verdict into this recipe.")] = None,
    force: Annotated[
        bool, typer.Option("--force", help="With --write: though the log is not shown to be the recipe's.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the comparison as one JSON document.")] = False,
) -> None:
    """Compare two loss curves by Megatron-Bridge's check and a strict companion.

    Example: openrecipes correctness convergence candidate.log reference.log --plot curves.svg
    """
    (located, threshold, _), (one, other), (frozen_arm, repeated) = together(
        lambda: together(
            lambda: recipe_named(write) if write else None,
            lambda: bridge_rule(rule),
            lambda: check_image_file(plot) if plot else None,
        ),
        lambda: together(partial(curve_named, candidate_log), partial(curve_named, reference_log)),
        lambda: together(*(partial(_curve, arm) for arm in (frozen, repeat))),
    )
    found = compared(one, other, frozen=frozen_arm, repeat=repeated, rule=threshold)
    document, text = found.document(), convergence_page(found)
    if plot:
        write_image(found, plot)
        output.say(f"wrote {plot}")
    notes = own_run_problems(located, candidate_log, found.candidate.arguments) if located else ()
    if errors_in(notes) and not force:
        raise ProblemsError(*notes)
    if located and not found.is_refused:
        block = with_convergence(located.recipe.correctness, found.block(), reference_log)
        written = write_block(located, "correctness", plain(block))
        document["written"] = {"file": written.file, "changed": written.changed}
        output.say(f"{written.file}: correctness {'written' if written.changed else 'as it was'}")
    output.result(document, as_json=json, text=text)
    output.problems((*found.problems, *notes))
    raise typer.Exit(0 if found.passed else 1)


def _curve(source: str | None) -> Curve | None:
    return curve_named(source) if source else None
