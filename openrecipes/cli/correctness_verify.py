"""`correctness verify RECIPE`."""

from typing import Annotated

import typer

from openrecipes.cli import output
from openrecipes.cli.configuration_sides import side_named
from openrecipes.cli.names import recipe_named
from openrecipes.cli.recomputed_page import recomputed_page
from openrecipes.correctness.configuration import configuration
from openrecipes.correctness.convergence import convergence
from openrecipes.correctness.own_run import own_run_problems
from openrecipes.correctness.recomputed import Compared, configuration_again, convergence_again
from openrecipes.evidence.loss_curves import curve_named
from openrecipes.logs.run_log import read_log
from openrecipes.logs.sources import log_files
from openrecipes.problems import Place, Problem, UsageError, errors_in, together
from openrecipes.recipe.correctness import Correctness
from openrecipes.recipe.read import LocatedRecipe
from openrecipes.verdict.convergence_rules import BRIDGE_RULES, PIPELINE


def verify(
    recipe: Annotated[str, typer.Argument(help="The recipe whose correctness evidence is computed again.")],
    *,
    candidate_log: Annotated[str | None, typer.Option(metavar="LOG", help="Log of the candidate's run.")] = None,
    reference_log: Annotated[str | None, typer.Option(metavar="LOG", help="Log of the reference's run.")] = None,
    frozen: Annotated[str | None, typer.Option(metavar="LOG", help="Log of the frozen arm.")] = None,
    reference: Annotated[str | None, typer.Option(metavar="RECIPE", help="The reference's recipe.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print what was compared as one JSON document.")] = False,
) -> None:
    """Compute a recipe's correctness evidence again, from its logs and its reference, and compare key by key.

    Example: openrecipes correctness verify my.yaml --candidate-log a.log --reference-log b.log --reference ref.yaml
    """
    located, _, _ = together(
        lambda: recipe_named(recipe),
        lambda: side_named(reference, None) if reference else None,
        lambda: log_files([log for log in (candidate_log, reference_log, frozen) if log]),
    )
    stored = _evidence(located)
    found: list[Compared] = []
    left: list[str] = []
    if stored.convergence and candidate_log and reference_log:
        rule = BRIDGE_RULES.get(stored.convergence.rule or "", PIPELINE)
        arms = curve_named(candidate_log), curve_named(reference_log), curve_named(frozen) if frozen else None
        found += convergence_again(stored.convergence, convergence(arms[0], arms[1], frozen=arms[2], rule=rule))
    elif stored.convergence:
        left.append("convergence: name both logs, --candidate-log and --reference-log")
    if stored.configuration and reference:
        logs = [(candidate_log, reference_log), (None, None)]
        sides = [(side_named(recipe, ours), side_named(reference, theirs)) for ours, theirs in dict.fromkeys(logs)]
        found += configuration_again(stored, [configuration(*pair) for pair in sides])
    elif stored.configuration:
        left.append("configuration: name the reference's recipe, --reference")
    left += [
        f"component test: openrecipes correctness component {test.component or 'NAME'} --recipe {recipe} on {test.gpu}"
        for test in stored.component_tests
    ]
    notes = own_run_problems(located, candidate_log, read_log([candidate_log]).arguments) if candidate_log else ()
    ok = bool(found) and all(each.same for each in found) and not errors_in(notes)
    document = {
        "ok": ok,
        "compared": [each.document() for each in found],
        "not_compared": left,
        "problems": [note.document() for note in notes],
    }
    output.result(document, as_json=json, text=recomputed_page(found, left, ok=ok))
    output.problems(notes)
    raise typer.Exit(0 if ok else 1)


def _evidence(located: LocatedRecipe) -> Correctness:
    found = located.recipe.correctness
    if found is None or not (found.convergence or found.configuration):
        what = "there is no correctness evidence here to compute again"
        mend = "write some: openrecipes correctness convergence … --write RECIPE"
        place = Place(file=located.file, key="correctness")
        raise UsageError(Problem(place=place, rule="correctness-none", what=what, mend=mend))
    return found
