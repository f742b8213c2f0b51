"""Which steps are scored, and what counts as steady: the rule is part of the result."""

import re
from dataclasses import dataclass
from typing import Final

from openrecipes.figures.window import DEFAULT_RULE, RULES, Window, rule_of
from openrecipes.problems import Place, Problem, UsageError, nearest


@dataclass(frozen=True, kw_only=True, slots=True)
class SteadyLimits:
    """What a window may show and still count as steady; part of every rule of version 1."""

    step_time_cv_percent: float = 5.0
    trend_percent: float = 3.0
    trend_p_value: float = 0.01
    step_over_median: float = 1.5


STEADY_LIMITS: Final = SteadyLimits()


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoredWindow:
    """First and last scored step, from 0 and both scored, and the name of the rule that chose them."""

    rule: str
    first: int
    last: int

    @property
    def steps(self) -> int:
        """Number of scored steps."""
        return self.last - self.first + 1

    @property
    def ends(self) -> Window:
        """First and last scored step."""
        return self.first, self.last


@dataclass(frozen=True, kw_only=True, slots=True)
class WindowChoice:
    """How the caller wants the window chosen: by a rule's name, by its ends, or (both None) as the recipe says."""

    rule: str | None = None
    ends: Window | None = None


AS_STATED: Final = WindowChoice()


def window_choice(rule: str | None, window: str | None) -> WindowChoice:
    """The choice that `--rule` and `--window A:B` make.

    Raises: UsageError if both are given, the rule is not known, or A:B are not two steps in order.
    """
    if rule is not None and window is not None:
        raise _usage(
            "--rule", "rule-or-window", "--rule and --window both name the scored steps", "give one of the two"
        )
    if rule is not None and rule not in RULES:
        close = nearest(rule, RULES)
        known = ", ".join(RULES)
        raise _usage(
            "--rule", "rule-known", f"{rule} is no window rule", f"use {close}" if close else f"use one of {known}"
        )
    return WindowChoice(rule=rule, ends=None if window is None else _ends(window))


def scored_window(choice: WindowChoice, stated: Window | None, steps: int) -> ScoredWindow | None:
    """The window of a run of `steps`: as chosen, else as stated in the recipe, else by the default rule.

    None where the rule leaves no step of so short a run.
    """
    ends = choice.ends if choice.rule is None else None
    if ends is None and choice.rule is None:
        ends = stated
    if ends is not None:
        return ScoredWindow(rule=rule_of(ends, steps), first=ends[0], last=ends[1])
    rule = choice.rule or DEFAULT_RULE
    try:
        first, last = RULES[rule](steps)
    except ValueError:
        return None
    return ScoredWindow(rule=rule, first=first, last=last)


def _ends(text: str) -> Window:
    match = re.fullmatch(r"(\d{1,9}):(\d{1,9})", text)
    if match is None:
        raise _usage(
            "--window", "window-form", f"{text} is not two steps", "write first:last, both scored, from 0, as 4:13"
        )
    first, last = int(match[1]), int(match[2])
    if last < first:
        raise _usage("--window", "window-form", f"{text} ends before it begins", f"write {last}:{first}")
    return first, last


def _usage(key: str, rule: str, what: str, mend: str) -> UsageError:
    return UsageError(Problem(place=Place(key=key), rule=rule, what=what, mend=mend))
