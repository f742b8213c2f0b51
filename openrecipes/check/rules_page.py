"""The page of all rules, as docs/rules.md holds it."""

from typing import Final

from openrecipes.check.all_rules import ALL_RULES
from openrecipes.check.rule import Section

_HEAD: Final = """\
# Rules

What `openrecipes check` holds a recipe to. Generated from `openrecipes/check/all_rules.py` by `make docs`; edits
are overwritten.

An error means that a run would not start, would not run what the recipe says, or that a figure is wrong; `check`
then ends with status 1. A warning means that the recipe misleads or cannot be repeated by its text alone; `check
--strict` counts it as an error. All problems of all files come in one run, in file and line order. A rule that
needs a field which could not be read stays silent; the others still speak.

A recipe that `--set` or a cluster profile changed is checked as if it were written so, before anything is rendered
or launched; only the rules of its file name do not apply. Its figures and evidence are emptied first, since they
belong to the recipe as it was. What it breaks and the original does not is told at the setting.

The three published recipes carry nine warnings, which are findings about the recipes and not about the tool:
`patches` is empty beside a backported fix (`words-patches`, all three), one claims a permute fusion that no flag in
`run` shows (`words-permute-fusion`), two count GPU-hours from scheduler admission where the third counts from
job start (`words-gpu-hours`), so that their GPU-hours do not compare, and all three claim to be verified by evidence
that names neither its reference nor its logs, so that nobody can compute it again (`status-worth`).
"""


def rules_page() -> str:
    """The text of docs/rules.md: a table a section, a line a rule."""
    parts = [_HEAD]
    for section in Section:
        parts.append(f"\n## {section}\n\n| rule | severity | what holds |\n| --- | --- | --- |\n")
        parts += [
            f"| `{rule.id}` | {rule.severity} | {rule.says.replace('|', chr(92) + '|')} |\n"
            for rule in ALL_RULES
            if rule.section is section
        ]
    return "".join(parts)
