"""What became of a run, and why: the outcome, its first cause, and what else its logs show.

diagnose(["log/rank0.log", "log/rank1.log"])          -> Diagnosis
diagnose(["runs/…"]).document()                       what `--json` prints
"""

import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from openrecipes import units
from openrecipes.diagnosis.evidence import Evidence, read_evidence
from openrecipes.diagnosis.findings import Finding, computed
from openrecipes.diagnosis.first_cause import distinct, fatal, first_cause
from openrecipes.diagnosis.signatures import Kind
from openrecipes.diagnosis.stated_steps import reached_the_end, steps_done, steps_wanted
from openrecipes.diagnosis.step_signs import hang, step_signs
from openrecipes.problems import Problem
from openrecipes.recipe.model import Recipe

Outcome = Literal["completed", "failed", "invalid", "incomplete", "running"]
_MOST_OTHERS: Final = 30


@dataclass(frozen=True, kw_only=True, slots=True)
class Diagnosis:
    """How a run ended. `cause` explains a failed or invalid one; `others` is what else there is, from the earliest on.

    `steps_wanted` is None where nothing says how many there were to be. `problems` are files that could not be read.
    `holds_nothing` where the logs say nothing at all of a run: no step, no arguments, no sign of trouble.
    """

    outcome: Outcome
    cause: Finding | None
    others: tuple[Finding, ...]
    steps_done: int
    steps_wanted: int | None
    files: tuple[str, ...]
    problems: tuple[Problem, ...] = ()
    holds_nothing: bool = False

    @property
    def is_bad(self) -> bool:
        """Whether the run failed or its figures mean nothing."""
        return self.outcome in ("failed", "invalid")

    def document(self) -> dict[str, Any]:
        """The diagnosis as `--json` prints it."""
        return {
            "outcome": self.outcome,
            "cause": self.cause.document() if self.cause else None,
            "others": [other.document() for other in self.others],
            "steps_read": self.steps_done,
            "steps_wanted": self.steps_wanted,
            "files": list(self.files),
            "problems": [problem.document() for problem in self.problems],
        }


def diagnose(sources: Sequence[str], recipe: Recipe | None = None) -> Diagnosis:
    """The diagnosis of one run's logs: files, directories of them, a run directory, `-`.

    `recipe` says what a bare log cannot: how many steps there were to be, and whether random weights are meant.
    Raises: UsageError for a file that cannot be read.
    """
    return judged(read_evidence(sources, recipe))


def judged(evidence: Evidence) -> Diagnosis:
    """The outcome and cause that the evidence shows."""
    means_random = evidence.means_random_weights
    signs = tuple(step_signs(evidence.log, evidence.recipe, means_random=means_random))
    findings = tuple(f for f in evidence.findings if _counts(f, evidence, means_random=means_random))
    outcome, cause = _verdict(evidence, findings, signs)
    rest = [f for f in (*findings, *signs) if f is not cause]
    others = distinct(rest, most=_MOST_OTHERS)
    is_told = cause or others or evidence.log.steps or evidence.log.arguments or evidence.record or evidence.success
    return Diagnosis(
        outcome=outcome,
        cause=cause,
        others=others,
        steps_done=steps_done(evidence.log),
        steps_wanted=steps_wanted(evidence),
        files=evidence.log.files,
        problems=evidence.log.problems,
        holds_nothing=not is_told,
    )


def _counts(finding: Finding, evidence: Evidence, *, means_random: bool) -> bool:
    if getattr(finding.trouble, "before_steps_only", False) and evidence.log.steps:
        return False
    return not (finding.kind is Kind.INVALID and means_random)


def _verdict(
    evidence: Evidence, findings: Sequence[Finding], signs: Sequence[Finding]
) -> tuple[Outcome, Finding | None]:
    possible = fatal(findings, evidence.log.steps)
    cause = first_cause(possible)
    invalid = next((f for f in (*signs, *findings) if f.kind is Kind.INVALID), None)
    if _ended_well(evidence, cause):
        return ("invalid", invalid) if invalid else ("completed", None)
    if cause is not None:
        return "failed", cause
    ended = _end(evidence)
    if ended is not None:
        return "failed", ended
    if invalid is not None:
        return "invalid", invalid
    if is_running(evidence):
        return "running", None
    silent = None if _was_stopped(evidence, findings) else hang(evidence.log)
    return ("failed", silent) if silent else ("incomplete", None)


def _ended_well(evidence: Evidence, cause: Finding | None) -> bool:
    """Whether the run took all its steps and its end says so, whatever else its log holds."""
    if not evidence.log.steps:
        return False
    job, claims = evidence.job, evidence.success is not None
    if job is not None:
        if job.exit_status != 0 or job.signal is not None:
            return False
        claims = True
    reached = reached_the_end(evidence)
    if reached is None:
        return claims and cause is None
    return reached and (claims or cause is None)


def _end(evidence: Evidence) -> Finding | None:
    """What the end of the run itself says where no line does: a masked failure, or one without words."""
    job, record, log = evidence.job, evidence.record, evidence.log
    done, wanted = steps_done(log), steps_wanted(evidence)
    claim = evidence.success
    if job is not None and job.has_ended and job.signal is None:
        if job.exit_status != 0 and job.cause is not None:
            return computed("launch_stopped", job.cause)
        if job.exit_status != 0:
            return computed("unknown_exit", f"exit status {job.exit_status}, with {_of(done, wanted)} in the log")
        name = "stopped_early" if done else "success_without_step"
        return computed(name, f"exit status 0, with {_of(done, wanted)} in the log")
    if job is None and record is not None and record.outcome == "failed":
        return computed("never_started", record.reason or "the launched script recorded no start")
    if job is not None and not job.has_ended and not is_running(evidence):
        return computed("end_not_recorded", f"started on {job.host}, with {_of(done, wanted)} in the log")
    if claim is not None and not log.steps:
        return computed("success_without_step", claim.text, file=claim.file, line=claim.line)
    if claim is not None and wanted is not None and done < wanted:
        return computed("stopped_early", f"{_of(done, wanted)}: {claim.text}", file=claim.file, line=claim.line)
    return None


def _of(done: int, wanted: int | None) -> str:
    return units.counted(done, "step") if wanted is None else f"{done} of {units.counted(wanted, 'step')}"


def _was_stopped(evidence: Evidence, findings: Sequence[Finding]) -> bool:
    job = evidence.job
    return any(f.kind is Kind.OUTSIDE for f in findings) or bool(job and job.signal)


def is_running(evidence: Evidence) -> bool:
    """Whether the run's own record says that it goes on, and its script is there, as far as can be seen from here."""
    job, record = evidence.job, evidence.record
    if record is None or record.has_ended or (job is not None and job.has_ended):
        return False
    if job is None or job.host != socket.gethostname():
        return True
    try:
        os.kill(job.pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
