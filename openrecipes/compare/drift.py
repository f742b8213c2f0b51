"""How far one stack lies from another, field by field: same, tolerated, different, unknown.

drift(stated, found)     -> one FieldDrift for each field of a recipe's `stack`, in its order
stack_of(captured)       -> the fields as a machine or a job has them

What is tolerated stands in drift_rules.py; everything else that differs is different.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Final

from openrecipes.compare.drift_rules import RULES, DriftStatus, release
from openrecipes.compare.job_stack import job_stack
from openrecipes.problems import UsageError
from openrecipes.recipe.model import Stack
from openrecipes.recipe.write import plain
from openrecipes.runs.directory import RunDirectory
from openrecipes.stack.block import stack_block
from openrecipes.stack.captured import Captured

StackFields = Mapping[str, str | None]

ABSENT: Final = "absent"
_MODULES: Final = {
    "pytorch": "torch",
    "transformer_engine": "transformer_engine",
    "deepep": "deep_ep",
    "transformers": "transformers",
}
# Who wrote the versions down is no version.
_NOT_COMPARED: Final = ("source",)


@dataclass(frozen=True, kw_only=True, slots=True)
class FieldDrift:
    """One field of the stack: what was stated, what was found, and how far they lie apart."""

    field: str
    status: DriftStatus
    stated: str | None
    found: str | None
    why: str

    def document(self) -> dict[str, str | None]:
        """The field as `--json` prints it."""
        return asdict(self)


def drift(stated: StackFields, found: StackFields) -> tuple[FieldDrift, ...]:
    """Every field of `stack` that either side has, in the recipe's order."""
    names = [name for name in Stack.model_fields if name not in _NOT_COMPARED]
    nothing = (None, ABSENT)
    return tuple(
        _drifted(name, stated.get(name), found.get(name))
        for name in names
        if stated.get(name) not in nothing or found.get(name) not in nothing
    )


def stack_of(captured: Captured) -> dict[str, str | None]:
    """The fields of `stack` as they were captured; `absent` where an import has shown that a part is not there."""
    fields: dict[str, str | None] = asdict(stack_block(captured))
    for name, module in _MODULES.items():
        if fields[name] is None and module in captured.loaded and module not in captured.errors:
            fields[name] = ABSENT
    return fields


def run_drift(stack: Stack, run: RunDirectory) -> tuple[FieldDrift, ...]:
    """How far what a job loaded lies from the recipe's stack; none where nothing was captured."""
    if not run.environment.is_file():
        return ()
    try:
        captured = job_stack(run)
    except UsageError:
        return ()
    return drift(stated_stack(stack), stack_of(captured))


def stated_stack(stack: Stack) -> dict[str, str | None]:
    """The fields of `stack` as a recipe states them."""
    return plain(stack)


def _drifted(name: str, stated: str | None, found: str | None) -> FieldDrift:
    status, why = _judged(name, stated, found)
    return FieldDrift(field=name, status=status, stated=stated, found=found, why=why)


def _judged(name: str, stated: str | None, found: str | None) -> tuple[DriftStatus, str]:
    if stated is None:
        return "unknown", "not stated"
    if ABSENT in (stated, found):
        return ("different", "not there") if found is not None else ("unknown", "not captured")
    if found is None:
        return "unknown", "not found, or not captured"
    if " ".join(stated.split()) == " ".join(found.split()):
        return "same", ""
    return RULES.get(name, release)(stated, found)
