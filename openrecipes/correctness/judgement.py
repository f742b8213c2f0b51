"""How one argument, variable or fact of the workload is judged: by its line in the table, its values, its default."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from openrecipes.correctness.argument_classes import ArgumentClasses, Class, Listing
from openrecipes.correctness.argument_values import NONE, canonical, number
from openrecipes.correctness.side import NOT_STATED, Side

Judged = Literal["equal", "neutral", "tolerated", "workload", "forbidden", "unknown"]
Kind = Literal["argument", "environment", "workload"]
UNSET: Final = "unset"


@dataclass(frozen=True, kw_only=True, slots=True)
class Item:
    """One value of both sides with its verdict. `listed` is its class in the table; `judged` is `equal` where it is."""

    name: str
    kind: Kind
    judged: Judged
    listed: Class | None
    passed: bool
    candidate: str
    reference: str
    why: str
    candidate_from: str = ""
    reference_from: str = ""
    component: str | None = None

    def document(self) -> dict[str, Any]:
        """The item as `--json` prints it."""
        return {
            "name": self.name,
            "kind": self.kind,
            "class": self.judged,
            "listed_as": self.listed,
            "verdict": "pass" if self.passed else "fail",
            "candidate": self.candidate,
            "reference": self.reference,
            "candidate_from": self.candidate_from,
            "reference_from": self.reference_from,
            "component": self.component,
            "why": self.why,
        }


def judged_arguments(candidate: Side, reference: Side, table: ArgumentClasses) -> Iterator[Item]:
    """Every argument that either side has in effect, in the parser's order, then attributes that no flag sets."""
    flags, defaults = _flags(candidate), _defaults(candidate)
    names = dict.fromkeys((*flags, *candidate.effective.settings, *reference.effective.settings))
    for name in names:
        ours, theirs = candidate.effective.settings.get(name), reference.effective.settings.get(name)
        if ours is None and theirs is None:
            continue
        if name not in flags and (ours is None or theirs is None) and _is_told_by_one_log(candidate, reference):
            continue  # a recipe's command cannot show what the trainer only prints
        listing = table.of_flag(flags[name]) if name in flags else table.of_attribute(name)
        default = defaults.get(name, NONE)
        yield _item(
            flags.get(name, name),
            listing,
            (ours.value if ours else default, theirs.value if theirs else default),
            (ours.origin if ours else "default", theirs.origin if theirs else "default"),
            harmless={default, "False" if name not in flags else default, candidate.of_the_model.get(name, default)},
        )
    for flag in dict.fromkeys((*candidate.effective.dropped, *reference.effective.dropped)):
        pair = (candidate.effective.dropped.get(flag, UNSET), reference.effective.dropped.get(flag, UNSET))
        why = "no flag of the pinned parser, which leaves it out in silence"
        yield _unknown(flag, "argument", pair, why)


def judged_environment(candidate: Side, reference: Side, table: ArgumentClasses) -> Iterator[Item]:
    """Every variable that either recipe sets; of a log alone only those that the arguments set."""
    known = candidate.recipe is not None and reference.recipe is not None
    ours, theirs = (side.environment if known else side.variables_of_the_actors for side in (candidate, reference))
    for name in dict.fromkeys((*ours, *theirs)):
        pair = (ours.get(name, UNSET), theirs.get(name, UNSET))
        listing = table.of_environment(name)
        if listing is None:
            yield _unknown(name, "environment", pair, "no line in the table of classes; classify it first")
        else:
            yield _judge(name, "environment", listing, pair, set_away=pair[0] != UNSET)


def judged_workload(candidate: Side, reference: Side) -> Iterator[Item]:
    """What is trained on, as the recipes say it; nothing where one side is a log alone."""
    ours, theirs = candidate.workload, reference.workload
    for name in ours if theirs else ():
        pair = (ours[name], theirs[name])
        if pair == (NOT_STATED, NOT_STATED):
            why, passed = "neither recipe knows the hash of its rows; their name must do", True
        elif pair[0] == pair[1]:
            why, passed = "the same", True
        else:
            why, passed = "another workload", False
        yield Item(
            name=name,
            kind="workload",
            judged="equal" if passed else "workload",
            listed="workload",
            passed=passed,
            candidate=pair[0],
            reference=pair[1],
            why=why,
            candidate_from=candidate.name,
            reference_from=reference.name,
        )


def _item(
    name: str,
    listing: Listing | None,
    pair: tuple[str, str],
    origins: tuple[str, str],
    *,
    harmless: set[str],
) -> Item:
    if listing is None:
        return _unknown(name, "argument", pair, "no line in the table of classes; classify it first", origins)
    if listing.negative:
        pair = (_none_if_negative(pair[0]), _none_if_negative(pair[1]))
    return _judge(name, "argument", listing, pair, set_away=pair[0] not in harmless, origins=origins)


def _none_if_negative(text: str) -> str:
    return NONE if (number(text) or 0) < 0 else text


def _judge(
    name: str,
    kind: Kind,
    listing: Listing,
    pair: tuple[str, str],
    *,
    set_away: bool,
    origins: tuple[str, str] = ("", ""),
) -> Item:
    judged, passed, why = _verdict(listing, pair, set_away=set_away)
    return Item(
        name=name,
        kind=kind,
        judged=judged,
        listed=listing.listed,
        passed=passed,
        candidate=pair[0],
        reference=pair[1],
        why=why,
        candidate_from=origins[0],
        reference_from=origins[1],
        component=listing.component if judged == "tolerated" else None,
    )


def _verdict(listing: Listing, pair: tuple[str, str], *, set_away: bool) -> tuple[Judged, bool, str]:
    if listing.listed == "forbidden" and set_away:
        return "forbidden", False, f"{listing.why}; forbidden whatever the reference does and the curves say"
    if pair[0] == pair[1]:
        return "equal", True, listing.why
    if listing.listed == "forbidden":
        return "forbidden", False, f"{listing.why}; set in the reference, which is then no reference for this"
    if listing.listed == "tolerated":
        removed = listing.only == "added" and pair[0] in ("False", UNSET)
        return "tolerated", not removed, f"{listing.why}{'; here it is removed' if removed else ''}"
    if listing.listed == "neutral":
        return "neutral", True, listing.why
    if listing.place is not None:
        judged: Judged = "tolerated" if listing.place == "weights" else "neutral"
        return judged, True, _PLACES[listing.place]
    return "workload", False, f"{listing.why}; another workload"


_PLACES: Final = {
    "rows": "a path of the site; the rows are compared by the recipes' rows_sha256",
    "model": "a path of the site; the model is compared by the recipes' model",
    "weights": "a path of the site; steps 0 and 1 of the convergence check show whether the weights are the same",
}


def _unknown(name: str, kind: Kind, pair: tuple[str, str], why: str, origins: tuple[str, str] = ("", "")) -> Item:
    return Item(
        name=name,
        kind=kind,
        judged="unknown",
        listed=None,
        passed=False,
        candidate=pair[0],
        reference=pair[1],
        why=f"{why}; unknown fails",
        candidate_from=origins[0],
        reference_from=origins[1],
    )


def _flags(side: Side) -> Mapping[str, str]:
    """The first spelling of each attribute's flag; of two flags for one attribute the first."""
    found: dict[str, str] = {}
    for argument in side.catalogue.arguments:
        found.setdefault(argument.dest, argument.flags[0])
    return found


def _defaults(side: Side) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for argument in side.catalogue.arguments:
        found.setdefault(argument.dest, canonical(argument.default))
    return found


def _is_told_by_one_log(candidate: Side, reference: Side) -> bool:
    return _is_told_by_a_log(candidate) != _is_told_by_a_log(reference)


def _is_told_by_a_log(side: Side) -> bool:
    return side.recipe is None or side.effective.source != side.name
