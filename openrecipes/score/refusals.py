"""Everything that forbids a figure, in one list."""

from dataclasses import replace

from openrecipes.problems import Place, Problem, errors_in, in_order
from openrecipes.score.run_evidence import Run
from openrecipes.score.run_refusals import run_refusals
from openrecipes.score.scene import Scene
from openrecipes.score.step_refusals import step_refusals
from openrecipes.score.training_refusals import training_refusals

# The log room tells these of the whole log, as warnings; the window's own are errors of the same subject here.
_TOLD_OF_THE_WINDOW = frozenset({"steps-missing", "steps-restarted"})

_TOLD_HERE_AS = {
    **dict.fromkeys(("only-averaged-rates", "step-times-absent"), "step-times-missing"),
    **dict.fromkeys(("step-time-absent", "loss-absent"), "value-absent"),
}


def refusals(scene: Scene) -> tuple[Problem, ...]:
    """Every problem of the run and its window, warnings included; with an error among them there is no figure."""
    log = scene.run.log_problems
    if not scene.run.steps:
        return in_order((*no_steps(scene.run), *run_refusals(scene)))
    found = (*step_refusals(scene), *training_refusals(scene), *run_refusals(scene))
    told = {problem.rule for problem in found} & _TOLD_OF_THE_WINDOW
    told |= {_TOLD_HERE_AS[problem.rule] for problem in found if problem.rule in _TOLD_HERE_AS}
    kept = (as_warning(problem) for problem in log if problem.rule not in told)
    return in_order((*found, *kept))


def as_warning(problem: Problem) -> Problem:
    """The same problem, which alone forbids nothing."""
    return replace(problem, severity="warning")


def no_steps(run: Run) -> tuple[Problem, ...]:
    """Why a run without a single step has none: what the log room says, else that alone."""
    if errors_in(run.log_problems):
        return run.log_problems
    what, mend = "the log holds no step", "score a log that holds step records"
    return (Problem(place=Place(file=run.name), rule="no-steps", what=what, mend=mend),)
