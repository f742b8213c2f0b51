"""The counts of a build, conversation by conversation, as the manifest has them."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from openrecipes.rows.conversations import SkipReason
from openrecipes.rows.manifest import ConversationCounts, Share
from openrecipes.rows.workers import EncodedBatch


class Tally:
    """Counts what became of the conversations; the same whatever the number of workers and the batches."""

    def __init__(self) -> None:
        self._read = 0
        self._skipped: Counter[SkipReason] = Counter()
        self._first_skipped: dict[SkipReason, int] = {}
        self._conversations: Counter[str] = Counter()
        self._tokens: Counter[str] = Counter()
        self._longest = 0
        self._ids: set[int] = set()
        self._duplicates = 0
        self._loss_switches = 0
        self.tokens = 0

    def add(self, batch: EncodedBatch, indices: Sequence[int]) -> None:
        """Count the batch's records at these source indices; those behind them were not needed."""
        self._read += len(indices)
        for place, reason in batch.skipped.items():
            if place < len(indices):
                self._skipped[reason] += 1
                self._first_skipped[reason] = min(indices[place], self._first_skipped.get(reason, indices[place]))
        lengths = [length for length in batch.lengths[: len(indices)] if length >= 0]
        self.tokens += sum(lengths)
        self._longest = max(self._longest, *lengths, 0)
        self._loss_switches += sum(batch.loss_switches[: len(lengths)])
        for source, length in zip(batch.sources, lengths, strict=False):
            if source is not None:
                self._conversations[source] += 1
                self._tokens[source] += length
        ids = [known for known in batch.id_hashes[: len(lengths)] if known is not None]
        before = len(self._ids)
        self._ids.update(ids)
        self._duplicates += len(ids) - (len(self._ids) - before)

    @property
    def first_skipped(self) -> Mapping[SkipReason, int]:
        """The lowest source index of the conversations that were skipped for each reason, reasons in order."""
        return {reason: self._first_skipped[reason] for reason in sorted(self._first_skipped)}

    def counts(self, available: int, place: Callable[[int], str]) -> ConversationCounts:
        """The counts so far, in the manifest's form; `place` says where in the source an index is."""
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
            first_skipped={reason.value: place(index) for reason, index in self.first_skipped.items()},
            longest_tokens=self._longest,
            duplicate_ids=self._duplicates,
            loss_switches_ignored=self._loss_switches,
            shares=shares,
        )
