"""docs/argument-classes.md, written from the table of classes so that it cannot lag behind it."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from openrecipes.correctness.argument_classes import Listing, argument_classes

_HEAD: Final = """\
# Argument classes

How `openrecipes correctness configuration` judges a difference in each argument, attribute and environment variable of
the trainer. Written by `make docs` from `openrecipes/correctness/argument_classes.yaml` (`{name}`), which is reviewed
by hand; edits here are overwritten. [correctness.md](correctness.md) says what the classes mean.

{counts}

Flags are those of slime a897e1f4 and Megatron-LM 1dcf0daf with slime's patch, by their first spelling; `--no-x` and
`--disable-x` stand for the same argument as the switch they undo. What is in no table is unknown, and fails.
"""


def classes_page() -> str:
    """The whole page."""
    table = argument_classes()
    counts = Counter(line.listed for line in table.flags.values())
    told = ", ".join(f"{count} {listed}" for listed, count in counts.most_common())
    parts = [_HEAD.format(name=table.name, counts=f"{len(table.flags)} flags: {told}.")]
    parts += [f"\n## {title}\n\n{_table('flag', lines)}" for title, lines in table.sections.items()]
    parts.append(f"\n## Attributes that no flag sets\n\n{_table('attribute', table.attributes)}")
    parts.append(f"\n## Environment variables\n\n{_table('variable', table.environment)}")
    return "".join(parts)


def _table(what: str, lines: Mapping[str, Listing]) -> str:
    rows = (f"| `{name}` | {line.listed} | {'; '.join(_words(line))} |\n" for name, line in lines.items())
    return f"| {what} | class | why |\n| --- | --- | --- |\n" + "".join(rows)


def _words(line: Listing) -> Iterator[str]:
    yield line.why
    if line.place:
        yield "a path of the site"
    if line.negative:
        yield "negative counts as unset"
    if line.component:
        yield f"component test `{line.component}`"
    if line.rules:
        yield f"rule {', '.join(f'`{rule}`' for rule in line.rules)}"
