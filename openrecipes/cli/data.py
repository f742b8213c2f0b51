"""`data build`, `data verify` and `data show`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from openrecipes.cli import output
from openrecipes.cli.names import recipe_named
from openrecipes.cli.rows_page import built_page, row_page, rows_progress, verified_page
from openrecipes.problems import Place, Problem, UsageError, together
from openrecipes.rows.against_recipe import compared
from openrecipes.rows.build import BuildSettings, build, refuse_built
from openrecipes.rows.embedded_tokenizer import EMBEDDED
from openrecipes.rows.named_source import named_source, refuse_unknown
from openrecipes.rows.permutation import MAX_SEED
from openrecipes.rows.recipe_rows import recipe_settings
from openrecipes.rows.show import decoded_row
from openrecipes.rows.tokenizer import read_tokenizer
from openrecipes.rows.verify import verify

app = typer.Typer(add_completion=False, no_args_is_help=True)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
File = Annotated[Path, typer.Argument(help="A parquet file of rows.")]
Tokenizer = Annotated[
    str | None,
    typer.Option(help="Hugging Face tokenizer folder or tokenizer.json.", show_default="the Qwen3.5 vocabulary"),
]


@app.callback()
def _root() -> None:
    """Build, verify and show fixed-length SFT rows.

    Example: openrecipes data build --recipe qwen3.5-moe-mini/cpu/smoke-dp2 -o rows.parquet
    """


@app.command("build")
def build_rows(
    *,
    recipe: Annotated[str | None, typer.Option(help="Recipe that says which rows.")] = None,
    source: Annotated[str | None, typer.Option(help="JSONL or parquet file, folder of shards, or dataset id.")] = None,
    revision: Annotated[str | None, typer.Option(help="Commit of a dataset on the hub.")] = None,
    tokenizer: Tokenizer = None,
    other_tokenizer: Annotated[
        bool, typer.Option("--other-tokenizer", help="Accept another tokenizer than the recipe pins.")
    ] = False,
    rows: Annotated[int | None, typer.Option(min=1, help="Rows to build.")] = None,
    row_tokens: Annotated[int | None, typer.Option(min=2, help="Tokens in each row.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, max=MAX_SEED, help="Seed of the conversations' order.")] = None,
    workers: Annotated[int | None, typer.Option(min=1, max=1024, help="Processes (default: one a core).")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the output if it exists.")] = False,
    out: Annotated[Path, typer.Option("-o", "--output", help="Parquet file to write.")],
    json: Json = False,
) -> None:
    """Build rows of exactly --row-tokens tokens from conversations; OUTPUT.manifest.json lies beside them.

    Example: openrecipes data build --source data/fixtures/conversations.jsonl --rows 64 --row-tokens 256 --seed 42
    -o rows.parquet
    """
    by_hand = {"--rows": rows, "--row-tokens": row_tokens, "--seed": seed}
    together(
        lambda: recipe_named(recipe) if recipe is not None else None,
        lambda: refuse_unknown(source) if source is not None else None,
        lambda: read_tokenizer(tokenizer) if tokenizer is not None else None,
        lambda: refuse_built(out, replace=force),
    )
    if recipe is not None:
        _none_given(by_hand)
        located = recipe_named(recipe)
        settings = recipe_settings(located, tokenizer=tokenizer, other_tokenizer=other_tokenizer, workers=workers)
        dataset = located.recipe.workload.dataset
        source, revision = source or dataset.source, revision or dataset.revision
    elif source is None or rows is None or row_tokens is None or seed is None:
        raise _missing({"--source": source, **by_hand})
    else:
        tokenizer = tokenizer or EMBEDDED
        settings = BuildSettings(
            name=out.stem, tokenizer=tokenizer, rows=rows, row_tokens=row_tokens, seed=seed, workers=workers
        )
    with rows_progress(settings) as progress:
        manifest = build(named_source(source, revision), settings, out, replace=force, progress=progress)
    output.result(manifest.model_dump(mode="json"), as_json=json, text=built_page(manifest, out))


@app.command("verify")
def verify_rows(
    file: File,
    *,
    recipe: Annotated[str | None, typer.Option(help="Recipe to compare the rows with.")] = None,
    json: Json = False,
) -> None:
    """Count and hash rows again, and compare them with their manifest and with a recipe.

    Example: openrecipes data verify rows.parquet --recipe qwen3.5-397b-a17b/h200/attune-tp2-pp4-ep32
    """
    located, verified = together(lambda: recipe_named(recipe) if recipe is not None else None, lambda: verify(file))
    if located is not None:
        verified = compared(file, verified, located)
    output.result(verified.document(), as_json=json, text=verified_page(verified, file))
    output.problems(verified.problems)
    raise typer.Exit(verified.exit_status)


@app.command("show")
def show_row(
    file: File,
    *,
    row: Annotated[int, typer.Option(min=0, help="Row, from 0.")] = 0,
    tokenizer: Tokenizer = None,
    json: Json = False,
) -> None:
    """Show a row decoded, with what is supervised marked (green, or between ⟦ and ⟧ where there is no colour).

    Example: openrecipes data show rows.parquet --row 3
    """
    decoded = decoded_row(file, row, tokenizer=tokenizer)
    output.result(decoded.document(), as_json=json, text=row_page(decoded))


def _missing(options: Mapping[str, object]) -> UsageError:
    names = ", ".join(name for name, value in options.items() if value is None)
    mend = "give every one of them, or --recipe"
    return UsageError(
        Problem(place=Place(file="data build"), rule="option-missing", what=f"{names} not given", mend=mend)
    )


def _none_given(options: Mapping[str, object]) -> None:
    given = [name for name, value in options.items() if value is not None]
    if given:
        what, mend = f"{', '.join(given)} given beside --recipe", "leave them out: the recipe says these"
        raise UsageError(Problem(place=Place(file="data build"), rule="options-exclude", what=what, mend=mend))
