"""Environment values that a node's shell must evaluate: the few that are known, and what is refused.

A recipe is untrusted, and a command substitution in it runs as whoever launches. So a value with `$(` runs
only where it is, character for character, one of the expressions below, which stand here as text of ours; any
other is refused unless the caller allows it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from openrecipes.problems import Place, Problem
from openrecipes.render.argument import EnvironmentValue
from openrecipes.render.environment import shell_word

# The published recipes' value of NCCL_NVLS_ENABLE: 1 where the node's GPUs are connected by NVLink.
NVLS_BY_NVLINK: Final = '$([ "$NVLINK_COUNT" -gt 0 ] && echo 1 || echo 0)'

KNOWN: Final = {
    NVLS_BY_NVLINK: 'if [ "$NVLINK_COUNT" -gt 0 ]; then echo 1; else echo 0; fi',
}


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeValue:
    """A variable whose value a node's shell prints: `script` is that shell's whole program."""

    name: str
    script: str


def node_value(value: EnvironmentValue) -> NodeValue:
    """The value as a program that prints it: a known expression as written here, any other as the recipe has it."""
    # By way of an assignment, as in the published form, where nothing is split or matched against file names.
    own = f"openrecipes_value={shell_word(value)} && printf '%s\\n' \"$openrecipes_value\""
    return NodeValue(name=value.name, script=KNOWN.get(value.value, own))


def shell_refusals(values: tuple[EnvironmentValue, ...], *, allowed: bool) -> Iterator[Problem]:
    """The values that would run a command of the recipe's own, unless that is allowed."""
    for value in values:
        if value.value not in KNOWN and not allowed:
            yield Problem(
                place=Place(key=f"env.{value.name}"),
                rule="env-shell-allowed",
                what=f"{value.value[:200]} would run as a command on every node",
                mend="write its value, or allow the recipe's own commands with --allow-shell-env",
            )
