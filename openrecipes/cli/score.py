"""`score RECIPE RUN…` and `score --gpus N --global-batch B --row-tokens R RUN`."""

from functools import partial
from typing import Annotated

import typer

from openrecipes.cli import output
from openrecipes.cli.score_page import score_page
from openrecipes.cli.score_subject import Stated, runs_among, subject
from openrecipes.figures.window import RULES
from openrecipes.problems import together
from openrecipes.score.run_evidence import read_run
from openrecipes.score.sensitivity import sensitivity
from openrecipes.score.several_runs import score_runs
from openrecipes.score.window import window_choice
from openrecipes.write_back.write_result import write_result

app = typer.Typer(add_completion=False)

_NAMES = "The recipe, then its runs: each a log, a directory of one run's logs, or a run directory."
_RULES = f"Window rule: {', '.join(RULES)}."


@app.command()
def score(
    names: Annotated[list[str], typer.Argument(metavar="[RECIPE] RUN...", help=_NAMES)],
    *,
    gpus: Annotated[
        int | None, typer.Option(metavar="N", min=1, max=2**20, help="Without a recipe: GPUs of the run.")
    ] = None,
    global_batch: Annotated[
        int | None, typer.Option(metavar="B", min=1, max=2**31, help="Without a recipe: rows a step.")
    ] = None,
    row_tokens: Annotated[
        int | None, typer.Option(metavar="R", min=1, max=2**31, help="Without a recipe: tokens a row.")
    ] = None,
    gpu: Annotated[str | None, typer.Option(metavar="G", help="Without a recipe: GPU type, for MFU and $.")] = None,
    model: Annotated[str | None, typer.Option(metavar="M", help="Without a recipe: model, for MFU.")] = None,
    rule: Annotated[str | None, typer.Option(metavar="ID", help=_RULES)] = None,
    window: Annotated[str | None, typer.Option(metavar="A:B", help="First and last scored step, from 0.")] = None,
    price_id: Annotated[str | None, typer.Option("--price", metavar="ID", help="Another catalogue price.")] = None,
    allow_unsteady: Annotated[bool, typer.Option("--allow-unsteady", help="Score an unsteady window too.")] = False,
    all_choices: Annotated[bool, typer.Option("--sensitivity", help="Show every rule, timer and price.")] = False,
    write: Annotated[bool, typer.Option("--write", help="Write the result into the recipe's file.")] = False,
    force: Annotated[bool, typer.Option("--force", help="With --write: over stronger evidence too.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the score as one JSON document.")] = False,
) -> None:
    """Score the steady window of a run, or refuse it and say why.

    Example: openrecipes score qwen3.5-397b-a17b/h200/attune-tp2-pp4-ep32 train.log
    """
    stated = Stated(gpus=gpus, global_batch=global_batch, row_tokens=row_tokens, gpu=gpu, model=model)
    choice, scored, runs = together(
        lambda: window_choice(rule, window),
        lambda: subject(names, stated, price_id, write=write),
        lambda: together(*(partial(read_run, name) for name in runs_among(names, stated))),
    )
    card = score_runs(scored.expected, runs, choice=choice, allow_unsteady=allow_unsteady)
    document = card.document()
    written = None
    if write and scored.recipe and not card.is_refused:
        written = write_result(scored.recipe, card.result(), force=force)
        document["written"] = {"file": written.file, "changed": written.changed}
    variants = sensitivity(scored.expected, runs, card) if all_choices else ()
    if all_choices:
        document["sensitivity"] = [variant.document() for variant in variants]
    output.result(document, as_json=json, text=score_page(card, scored.title, variants))
    output.problems(card.problems)
    if written:
        output.say(
            f"{document['written']['file']}: result {'written' if document['written']['changed'] else 'as it was'}"
        )
    if card.is_refused:
        raise typer.Exit(1)
