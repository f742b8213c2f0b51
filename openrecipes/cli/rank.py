"""`rank [--model M] [--gpu G]`."""

from typing import Annotated

import typer

from openrecipes.catalog.gpus import all_gpus
from openrecipes.catalog.models import all_models
from openrecipes.cli import output
from openrecipes.cli.names import library
from openrecipes.cli.rank_page import rank_page
from openrecipes.problems import Place, Problem, UsageError, nearest, together
from openrecipes.site.other_gpus import on_gpus, without_board
from openrecipes.site.ranking import ranking, read_entries

app = typer.Typer(add_completion=False)


@app.command()
def rank(
    *,
    model: Annotated[str | None, typer.Option(help="Only this model.")] = None,
    gpu: Annotated[str | None, typer.Option(help="Only this GPU.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the boards as one JSON document.")] = False,
) -> None:
    """Show the leaderboard: boards of comparable results, ranked by tokens/s per GPU.

    Example: openrecipes rank --model Qwen3.5-397B-A17B --gpu H200
    """
    entries, left_out = read_entries(library())
    models = [*(entry.recipe.model for entry in entries), *(known.name for known in all_models())]
    gpus = [*(entry.recipe.gpu.type for entry in entries), *(known.name for known in all_gpus())]
    together(lambda: _known("--model", model, models), lambda: _known("--gpu", gpu, gpus))
    everything = ranking(entries).boards
    shown = ranking(entries, model=model, gpu=gpu)
    boards = [(board, on_gpus(board, everything)) for board in shown.boards]
    headlines = without_board(shown.boards, model, gpu)
    document = {
        "boards": [{**board.document(), "on_gpus": [one.document() for one in others]} for board, others in boards],
        "headlines": [{"model": of, **one.document()} for of, one in headlines],
        "unranked": [{"recipe": one.recipe, "reason": one.reason} for one in shown.unranked],
        "problems": [problem.document() for problem in left_out],
    }
    output.result(document, as_json=json, text=rank_page(boards, headlines, shown.unranked))
    output.problems(left_out)


def _known(option: str, name: str | None, names: list[str]) -> None:
    if name is None or name.lower() in {known.lower() for known in names}:
        return
    # One letter makes another GPU, not a slip.
    close = nearest(name, names) if option == "--model" else None
    mend = f"write {close}" if close else f"write one of {', '.join(dict.fromkeys(names))}"
    raise UsageError(
        Problem(place=Place(key=option), rule="rank-known", what=f"nothing here is called {name}", mend=mend)
    )
