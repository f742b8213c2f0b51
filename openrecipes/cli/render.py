"""`render RECIPE`."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from openrecipes.catalog.models import model
from openrecipes.check.overridden import override_problems, standing_problems
from openrecipes.cli import output
from openrecipes.cli.cluster_profile import as_file, recipe_and_place
from openrecipes.cli.names import recipe_named
from openrecipes.cli.render_page import difference, document, listing
from openrecipes.cli.rendered_files import how_to_start, write_rendered_files
from openrecipes.problems import Place, Problem, ProblemsError, UsageError, errors_in, in_order, together
from openrecipes.render.command import command, text_of
from openrecipes.render.located import as_launched, placed_in
from openrecipes.render.model_arguments import notes
from openrecipes.render.overrides import changed_by
from openrecipes.render.setting_problems import parsed_setting
from openrecipes.targets.read_profile import in_profile, placed_in_profile
from openrecipes.targets.rendering import prepared, target_of

app = typer.Typer(add_completion=False)


@app.command()
def render(
    recipe: Annotated[str, typer.Argument(help="A recipe file, or its short name below recipes/.")],
    *,
    target: Annotated[
        str | None, typer.Option(help="Render every file of a launch there: local, ssh, slurm, kubernetes.")
    ] = None,
    cluster: Annotated[
        Path | None, typer.Option(callback=as_file, help="Cluster profile, a file or a shipped one's name.")
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a key; may be repeated.")
    ] = None,
    out: Annotated[Path | None, typer.Option("-o", "--out", help="Folder to write the files to.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files there that differ.")] = False,
    sft_data: Annotated[Path | None, typer.Option(help="Rows to train on, as for run.")] = None,
    first_step_seconds: Annotated[
        int | None,
        typer.Option(
            min=1, help="Longest time to the first step. Unit: seconds.", show_default="the profile's, else 3600"
        ),
    ] = None,
    allow_shell_env: Annotated[
        bool, typer.Option("--allow-shell-env", help="Let commands in the recipe's environment run.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print environment, argv, origins and files as JSON.")] = False,
) -> None:
    """Print the command of a recipe, derived from its fields; with a target, every file of a launch.

    Fields that `check` refuses have no command, and exit with 1; wrong words and figures beside them are only told.

    Example: openrecipes render qwen3.5-397b-a17b/h200/attune-tp2-pp4-ep32 --set layout.tp=1
    """
    if target is None and cluster is None:
        of_files = {"-o": out, "--force": force, "--sft-data": sft_data, "--first-step-seconds": first_step_seconds}
        located, _ = together(lambda: recipe_named(recipe), lambda: _refuse_without_target(of_files))
        with placed_in(located):
            changed = changed_by(located.recipe, [parsed_setting(text) for text in settings or ()])
        launched = as_launched(located, changed.recipe) if changed.changes else located
        _tell(*override_problems(located, changed), *standing_problems(located, launched))
        with placed_in(located):
            made = command(changed.recipe, model(changed.recipe.model), changed.origins)
        text, deviations, rendered = text_of(made), changed.deviations, None
        remarks = (*notes(changed.recipe, model(changed.recipe.model)), *difference(changed.recipe, text))
    else:
        located, cluster, profile = recipe_and_place(
            recipe, target, cluster, settings or (), first_step_seconds=first_step_seconds, is_look=True
        )
        standing = () if settings else standing_problems(located, located)
        with placed_in_profile(cluster, profile), _beside(standing):
            ready = prepared(
                located,
                target_of(target, profile),
                settings=settings or (),
                profile=profile,
                sft_data=str(sft_data.resolve()) if sft_data else None,
                allow_shell_env=allow_shell_env,
            )
        made, deviations, rendered = ready.launch.command, ready.deviations, ready.rendered
        _tell(*in_profile(ready.warnings, cluster, profile), *standing_problems(located, ready.launched))
        text, remarks = listing(rendered), (f"{rendered.entry} starts it; render_sha256 {rendered.render_sha256}",)
        if out:
            write_rendered_files(rendered, out, force=force)
            has_rows = bool(ready.launch.sft_data or profile.paths.sft_data)
            remarks += tuple(how_to_start(profile.target, out, has_rows=has_rows))
    for remark in (*deviations, *remarks):
        output.say(remark)
    output.result(document(made, rendered, deviations), as_json=json, text=text)


@contextmanager
def _beside(standing: tuple[Problem, ...]) -> Iterator[None]:
    """Lets a refusal out with what stands against the recipe itself."""
    try:
        yield
    except ProblemsError as error:
        raise type(error)(*in_order((*error.problems, *standing))) from None


def _tell(*problems: Problem) -> None:
    """Prints what only warns. Raises: ProblemsError with all if one is an error."""
    if errors_in(problems):
        raise ProblemsError(*in_order(problems))
    output.problems(in_order(problems))


def _refuse_without_target(options: Mapping[str, object]) -> None:
    problems = [
        Problem(place=Place(key=name), rule="usage", what="is only for files", mend="add --target local")
        for name, value in options.items()
        if value
    ]
    if problems:
        raise UsageError(*problems)
