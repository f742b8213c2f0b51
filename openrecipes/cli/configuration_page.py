"""The configuration check for people: what differs, what fails and why, what is still to be shown."""

from collections.abc import Iterator

from openrecipes.cli.columns import WIDTH, columns, explained, hanging
from openrecipes.correctness.configuration import Configuration
from openrecipes.correctness.judgement import Item
from openrecipes.problems import printable


def configuration_page(found: Configuration, *, everything: bool) -> str:
    """Plain lines of 80 columns, never cut; `everything` shows what is equal too."""
    shown = [item for item in found.items if everything or item.judged != "equal"]
    return "\n".join(
        (
            f"configuration: {found.result}",
            *columns(
                (
                    ("candidate", found.candidate.name),
                    ("", f"arguments from {found.candidate.effective.source}"),
                    ("reference", found.reference.name),
                    ("", f"arguments from {found.reference.effective.source}"),
                    ("classes", f"{found.table}: {_counts(found)}"),
                )
            ),
            "",
            *_items(shown),
            *_rules(found),
            *_asks(found),
        )
    )


def _counts(found: Configuration) -> str:
    counts: dict[str, int] = {}
    for item in found.items:
        counts[item.judged] = counts.get(item.judged, 0) + 1
    return ", ".join(f"{count} {judged}" for judged, count in counts.items())


def _items(shown: list[Item]) -> Iterator[str]:
    if not shown:
        yield "nothing differs"
        return
    failing_first = sorted(shown, key=lambda item: item.passed)
    rows: list[tuple[str, ...]] = [("what differs", "class", "", "candidate", "reference")]
    rows.extend(
        (
            item.name,
            item.judged,
            "ok" if item.passed else "FAILS",
            _short(item.candidate),
            _short(item.reference),
        )
        for item in failing_first
    )
    yield from explained(rows, (item.why for item in failing_first))


def _rules(found: Configuration) -> Iterator[str]:
    broken = [rule for rule in found.relations if not rule.passed]
    if broken:
        yield ""
    for rule in broken:
        for fault in rule.faults:
            yield hanging(f"rule {rule.name} FAILS: {fault}")


def _asks(found: Configuration) -> Iterator[str]:
    if found.not_compared:
        yield ""
        yield hanging(f"Not compared, since a log alone does not tell: {', '.join(found.not_compared)}.", rest="")
    if not found.tolerated:
        return
    yield ""
    names = ", ".join(item.name for item in found.tolerated)
    yield hanging(f"Tolerated differences ({names}) pass only with the convergence check:", rest="")
    yield "  openrecipes correctness convergence CANDIDATE_LOG REFERENCE_LOG"
    for component in found.components:
        words = (f"  openrecipes correctness component {component}", f"--recipe {found.candidate.name}")
        fits = sum(map(len, words)) < WIDTH
        yield from map(printable, [" ".join(words)] if fits else [f"{words[0]} \\", f"    {words[1]}"])


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:39]}…"
