"""Rules over the trainer's flags: what its own parser would refuse, drop in silence or read otherwise."""

from collections.abc import Iterator
from typing import Final

from openrecipes.catalog.arguments import stack_ids
from openrecipes.check.rule import Finding, Rule, Section, rule
from openrecipes.check.subject import Subject
from openrecipes.problems import Severity


def _rule(id: str, says: str, *, section: Section = Section.ARGUMENTS, severity: Severity = "error") -> Rule:  # noqa: A002
    """A rule over what rendering refuses and what the trainer's parser would do, by its id."""

    def find(subject: Subject) -> Iterator[Finding]:
        told = set()
        for problem in subject.refusals:
            if problem.rule == id:
                told.add(problem.place.key)
                yield Finding(key=problem.place.key, what=problem.what, mend=problem.mend)
        for fault in subject.argument_faults:
            if fault.rule == id and fault.key not in told:
                line = None if fault.line is None else subject.run_line(fault.line)
                yield Finding(key=fault.key, line=line, what=fault.what, mend=fault.mend)

    return Rule(id=id, section=section, says=says, severity=severity, find=find)


ARGUMENT_RULES: Final = (
    _rule("argument-unknown", "the trainer has every flag; it drops the others in silence."),
    _rule("argument-count", "a flag has as many values as it takes."),
    _rule("argument-value", "a value is of its flag's kind, and one of its choices."),
    _rule("argument-spaces", "no spaces in a list of layers: the parser refuses them."),
    _rule("argument-repeated", "no flag stands twice with different values; only the last counts."),
    _rule("argument-needs", "a flag that needs another has it."),
    _rule("argument-excludes", "flags that exclude each other do not stand together."),
    _rule("argument-void", "no flag that another one makes void.", severity="warning"),
    _rule("argument-default", "no flag is left out whose default surprises.", severity="warning"),
    _rule("argument-twice", "no two keys of `arguments` mean the same flag."),
    _rule("argument-field", "`arguments` sets no flag that a field decides."),
    _rule("argument-model", "`arguments` sets no flag that the model decides."),
    _rule("argument-launch", "`arguments` sets no path: the launch does."),
    _rule("argument-task", "`arguments` sets nothing that makes the run supervised fine-tuning on packed rows."),
)
RENDER_RULES: Final = (
    _rule("env-text", "a variable's value is text that an environment can hold.", section=Section.ENVIRONMENT),
    _rule("env-shell", "every $(...) in a variable is closed.", section=Section.ENVIRONMENT),
    _rule("render-precision", "slime trains in bf16, fp16 or fp8.", section=Section.COMMAND),
    _rule("layout-allgather", "slime turns the allgather dispatcher into alltoall.", section=Section.LAYOUT),
    _rule("render-offload-modules", "offloaded activations name their modules.", section=Section.COMMAND),
    _rule("render-offload-env", "offloaded activations need NVTE_CPU_OFFLOAD_V1=1.", section=Section.COMMAND),
    _rule("render-offload-optimizer", "the offloaded optimizer is the precision-aware one.", section=Section.COMMAND),
    _rule("render-smoke", "the smoke trainer is data parallel in fp32 on one node.", section=Section.COMMAND),
)


@rule("stack-known", Section.ARGUMENTS, "stack names commits whose flags are known.", "warning")
def stack_known(subject: Subject) -> Iterator[Finding]:
    """A trainer of another commit, whose flags nobody has read."""
    stack = subject.recipe.stack
    if subject.recipe.trainer == "slime" and stack.framework and subject.parser is None:
        named = f"{stack.framework[:80]} with megatron_lm {(stack.megatron_lm or 'null')[:80]}"
        yield Finding(
            key="stack.framework",
            what=f"{named} is none of {', '.join(stack_ids())}, so flags are not checked",
            mend="take a snapshot of its parser with `openrecipes arguments snapshot`, or name the commits",
        )
