"""`correctness …`: whether a fast run computes the right thing. One file for each sub-verb."""

import typer

from openrecipes.cli.correctness_component import component
from openrecipes.cli.correctness_configuration import configuration
from openrecipes.cli.correctness_convergence import convergence
from openrecipes.cli.correctness_verify import verify

app = typer.Typer(add_completion=False, no_args_is_help=True)


@app.callback()
def _root() -> None:
    """Check that a fast run computes the right thing.

    Example: openrecipes correctness convergence candidate.log reference.log
    """


app.command()(configuration)
app.command()(convergence)
app.command()(component)
app.command()(verify)
