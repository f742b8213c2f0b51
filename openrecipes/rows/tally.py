"""The counts of a build, conversation by conversation, as the manifest has them."""

from collections import Counter
from collections.abc import Callable

from openrecipes.rows.conversations import SkipReason
from openrecipes.rows.manifest import ConversationCounts, Share
from openrecipes.rows.workers import Outcome


class Tally:
    """Counts what became of the conversations; the same whatever the number of workers."""

    def __init__(self, place: Callable[[int], str]) -> None:
        self._place = place
        self._read = 0
        self._skipped: Counter[SkipReason] = Counter()
        self._first_skipped: dict[SkipReason, str] = {}
        self._conversations: Counter[str] = Counter()
        self._tokens: Counter[str] = Counter()
        self._longest = 0
        self._ids: set[int] = set()
        self._duplicates = 0
        self._loss_switches = 0
        self.tokens = 0

    def add(self, index: int, outcome: Outcome) -> None:
        """Count the conversation at a source index."""
        self._read += 1
        if outcome.tokens is None:
            assert outcome.skipped is not None, "an outcome has tokens or a reason"
            self._skipped[outcome.skipped] += 1
            if outcome.skipped not in self._first_skipped:
                self._first_skipped[outcome.skipped] = self._place(index)
            return
        count = len(outcome.tokens.ids)
        self.tokens += count
        self._longest = max(self._longest, count)
        self._loss_switches += outcome.loss_switches
        if outcome.source is not None:
            self._conversations[outcome.source] += 1
            self._tokens[outcome.source] += count
        if outcome.id is not None:
            seen = hash(outcome.id)
            self._duplicates += seen in self._ids
            self._ids.add(seen)

    def counts(self, available: int) -> ConversationCounts:
        """The counts so far, in the manifest's form."""
        shares = {
            name: Share(conversations=self._conversations[name], tokens=self._tokens[name])
            for name in sorted(self._conversations)
        }
        reasons = sorted(self._skipped)
        return ConversationCounts(
            available=available,
            read=self._read,
            used=self._read - self._skipped.total(),
            skipped={reason.value: self._skipped[reason] for reason in reasons},
            first_skipped={reason.value: self._first_skipped[reason] for reason in reasons},
            longest_tokens=self._longest,
            duplicate_ids=self._duplicates,
            loss_switches_ignored=self._loss_switches,
            shares=shares,
        )
