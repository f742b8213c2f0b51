"""Loss curves from what the words on the command line name: a log, a directory of one run's logs, a run directory."""

from openrecipes.correctness.curve import Curve, points_of
from openrecipes.score.run_evidence import read_run


def curve_named(source: str) -> Curve:
    """The curve of one run. Raises: UsageError if there is no such log, or it cannot be read."""
    run = read_run(source)
    return Curve(
        name=source,
        points=points_of(run.steps, first_number=run.first_number, supervised=run.notes.supervised),
        arguments=run.arguments,
        log_sha256=run.log_sha256,
        problems=run.log_problems,
    )
