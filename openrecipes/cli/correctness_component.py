"""`correctness component NAME`."""

import contextlib
import sys
from pathlib import Path
from typing import Annotated

import typer

from openrecipes.cli import output
from openrecipes.cli.component_page import component_page
from openrecipes.cli.names import recipe_named
from openrecipes.correctness.component.bench import Device, bench_for
from openrecipes.correctness.component.entry import document, entry
from openrecipes.correctness.component.entry_file import check_entry_file, write_entry
from openrecipes.correctness.component.examination import component_named, component_names, examined
from openrecipes.correctness.component.frame import Tier
from openrecipes.correctness.component.subject import DEFAULT_MODEL, Degrees, subject_of_model, subject_of_recipe
from openrecipes.problems import Place, Problem, ProblemsError, UsageError, together
from openrecipes.recipe.write import plain
from openrecipes.write_back.as_launched import refuse_as_launched
from openrecipes.write_back.correctness_parts import with_component_test
from openrecipes.write_back.write_result import write_block

_NAME = f"One of {', '.join(component_names())}."
_TIER = "Whose code to test; default: the training stack's own where it can run, else PyTorch."


def component(
    name: Annotated[str, typer.Argument(metavar="NAME", help=_NAME)],
    *,
    model: Annotated[str | None, typer.Option(metavar="M", help=f"Model; default: {DEFAULT_MODEL}.")] = None,
    recipe: Annotated[
        str | None, typer.Option(metavar="RECIPE", help="Model, degrees and optimizer values of this recipe.")
    ] = None,
    ep: Annotated[int | None, typer.Option(min=1, max=2**20, help="Expert parallelism; default 8.")] = None,
    etp: Annotated[int | None, typer.Option(min=1, max=2**20, help="Expert tensor parallelism; default 1.")] = None,
    tp: Annotated[
        int | None, typer.Option(min=1, max=2**20, help="Ranks that split the vocabulary; default 2.")
    ] = None,
    device: Annotated[Device | None, typer.Option(help="Default: cuda where there is a GPU.")] = None,
    tier: Annotated[Tier | None, typer.Option(help=_TIER)] = None,
    output_file: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Write the entry (.yaml) or all of it (.json)."),
    ] = None,
    write: Annotated[
        str | None, typer.Option(metavar="RECIPE", help="Write the entry into this recipe, which it is then about.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the report as one JSON document.")] = False,
) -> None:
    """Test one component's numerics at the model's shape, with negative controls that must fail.

    Example: openrecipes correctness component precision-aware-adam --model Qwen3.5-397B-A17B --ep 8
    """
    _one_subject({"--model": model, "--recipe": recipe, "--write": write})
    named = recipe or write
    tested, located, _ = together(
        lambda: component_named(name),
        lambda: recipe_named(named) if named else None,
        lambda: check_entry_file(output_file) if output_file else None,
    )
    asked = Degrees(tp=tp, ep=ep, etp=etp)
    subject = subject_of_recipe(located.recipe, asked) if located else subject_of_model(model or DEFAULT_MODEL, asked)
    bench, passed_over = bench_for(tested, tier=tier, device=device)
    for missing in passed_over:
        output.say(f"{missing.tier} is not tested: {missing.reason}")
    if write and located:
        _only_evidence(write, bench.tier)
        refuse_as_launched(located)
    output.say(f"testing {tested.name}: {tested.implementations[bench.tier]}")
    with contextlib.redirect_stdout(sys.stderr):  # libraries may print; stdout is for the report
        report = examined(tested, subject, bench)
    if output_file:
        write_entry(report, output_file)
        output.say(f"wrote {output_file}")
    printed = document(report)
    if write and located:
        block = with_component_test(located.recipe.correctness, entry(report))
        written = write_block(located, "correctness", plain(block))
        printed["written"] = {"file": written.file, "changed": written.changed}
        output.say(f"{written.file}: correctness {'written' if written.changed else 'as it was'}")
    output.result(printed, as_json=json, text=component_page(report))
    raise typer.Exit(0 if report.passed else 1)


def _one_subject(named: dict[str, str | None]) -> None:
    given = {option: value for option, value in named.items() if value}
    if len(given) > 1:
        what = f"{' and '.join(f'{option} {value}' for option, value in given.items())}: a recipe names its own model"
        raise UsageError(
            Problem(place=Place(key="model"), rule="component-subject", what=what, mend="leave one of them")
        )


def _only_evidence(recipe: str, tier: Tier) -> None:
    if tier.is_stand_in:
        what = f"{tier} is a stand-in: it shows that the test works, and not that the training stack does"
        mend = "run it on a GPU with the training stack's own code, or leave --write out"
        raise ProblemsError(Problem(place=Place(file=recipe), rule="component-evidence", what=what, mend=mend))
