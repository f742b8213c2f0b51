"""Whether a watched run has ended: by its own record, by its log's last word, or by a long silence.

A failure alone is no end: a driver can outlive its workers by a timeout of half an hour, and print more.
"""

from collections.abc import Sequence
from typing import Final

from openrecipes import units
from openrecipes.diagnosis.diagnose import Diagnosis, is_running
from openrecipes.diagnosis.evidence import Evidence
from openrecipes.diagnosis.findings import shown
from openrecipes.diagnosis.signatures import Kind

_LAST_WORD: Final = frozenset({"job_failed"})
# So long after a scheduler stopped it, or its driver raised, nothing more is to be expected.
_QUIET_S: Final = 60.0
# Longer than the timeouts after which NCCL and Ray give a run up.
_SILENT_S: Final = 3600.0


def end_of(evidence: Evidence, diagnosis: Diagnosis, *, last_texts: Sequence[str], silent_s: float) -> str | None:
    """Why the run is taken to have ended, for people; None while it may go on. "" where its outcome says it all.

    `last_texts` are the last lines of its files.
    """
    silence = f"nothing has been written to its log for {units.seconds(silent_s)}"
    if evidence.record is not None:
        if not is_running(evidence):
            return ""
        return silence if diagnosis.is_bad and silent_s >= _SILENT_S else None
    names = {finding.name for finding in evidence.findings}
    if names & _LAST_WORD or evidence.success is not None or diagnosis.outcome == "completed":
        return ""
    if silent_s >= _SILENT_S:
        return silence
    if diagnosis.is_bad and silent_s >= _QUIET_S and _is_over(evidence, last_texts):
        return silence
    return None


def _is_over(evidence: Evidence, last_texts: Sequence[str]) -> bool:
    """Whether a scheduler stopped the run, or a log ends with an exception of the driver, which has no prefix."""
    raised = {f.text for f in evidence.findings if f.kind in (Kind.CAUSE, Kind.EXCEPTION)}
    is_stopped = any(finding.kind is Kind.STOP for finding in evidence.findings)
    return is_stopped or any(shown(text) in raised for text in last_texts if text)
