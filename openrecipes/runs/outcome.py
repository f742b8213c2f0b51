"""How a run ended, from what its script recorded and what its log holds."""

from typing import Final

from openrecipes import units
from openrecipes.runs.record import Job, Outcome

# A scheduler's words for an end that is no success, whatever the script could still write down.
_BROKEN: Final = ("FAILED", "STOPPED", "DELETED")


def outcome(
    job: Job | None, *, steps_read: int, steps_wanted: int, was_stopped: bool, ended_as: str | None = None
) -> tuple[Outcome, str | None]:
    """The outcome and, unless it completed, the reason in words; `ended_as` is a scheduler's word for it.

    Completed takes exit status 0 and every step: a trainer that says success without its steps has failed.
    `was_stopped` says that whoever launched it also ended it. A job that takes no steps wants 0 of them.
    """
    so_far = f", with {steps_read} of {units.counted(steps_wanted, 'step')} in the log" if steps_wanted else ""
    by_scheduler = f"; the scheduler says {ended_as}" if ended_as else ""
    if was_stopped and not (job and job.exit_status == 0 and job.signal is None):
        return "interrupted", f"stopped by the caller{so_far}"
    if job is None:
        if ended_as == "CANCELLED":
            return "interrupted", "cancelled before it started"
        return "failed", f"the launched script recorded no start{by_scheduler}; its log says why"
    if not job.has_ended:
        return "failed", f"the launched script was ended before it could record its end{so_far}{by_scheduler}"
    cause = f"{job.cause}; " if job.cause else ""
    if job.signal is not None:
        return "interrupted", f"{cause}stopped by SIG{job.signal}{so_far}"
    if job.exit_status != 0:
        return "failed", f"{cause}exit status {job.exit_status}{so_far}"
    if ended_as is not None and ended_as.startswith(_BROKEN):
        return "failed", f"exit status 0{so_far}{by_scheduler}"
    if steps_read < steps_wanted:
        return "failed", f"exit status 0, but with {steps_read} of {units.counted(steps_wanted, 'step')} in the log"
    return "completed", None
