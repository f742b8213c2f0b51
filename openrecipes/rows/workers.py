"""Records to tokens on several processes, in order. One process does it itself, without starting another."""

import json
import os
import signal
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import connection, get_context, parent_process
from types import TracebackType
from typing import Self

from openrecipes.rows.conversations import Skipped, SkipReason, conversation
from openrecipes.rows.encode import ConversationEncoder, Tokens
from openrecipes.rows.tokenizer import read_tokenizer


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What became of one record: tokens, or the reason why it was skipped."""

    tokens: Tokens | None = None
    skipped: SkipReason | None = None
    source: str | None = None
    id: str | None = None
    loss_switches: int = 0


def outcome(encoder: ConversationEncoder, record: bytes) -> Outcome:
    """What becomes of one record in JSON; nothing in it raises."""
    try:
        try:
            parsed = json.loads(record)
        except (ValueError, RecursionError):
            raise Skipped(SkipReason.NOT_JSON) from None
        found = conversation(parsed)
        return Outcome(
            tokens=encoder.tokens(found),
            source=found.source,
            id=found.id,
            loss_switches=sum("loss" in message for message in found.messages),
        )
    except Skipped as skipped:
        return Outcome(skipped=skipped.reason)


class Workers:
    """Encodes batches of records, in order, on `count` processes; 1 means this one."""

    def __init__(self, tokenizer: str, *, count: int) -> None:
        self._tokenizer = tokenizer
        self._count = count
        self._pool: ProcessPoolExecutor | None = None
        self._encoder: ConversationEncoder | None = None

    def __enter__(self) -> Self:
        if self._count > 1:
            # Spawned, not forked: a fork copies the locks of threads that do not exist in the child.
            self._pool = ProcessPoolExecutor(
                self._count, mp_context=get_context("spawn"), initializer=_start, initargs=(self._tokenizer,)
            )
        else:
            self._encoder = _encoder(self._tokenizer)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def outcomes(self, batches: Iterable[Sequence[bytes]]) -> Iterator[Outcome]:
        """What became of each record, in order; no more than a few batches ahead of what is asked for."""
        if self._encoder is not None:
            for batch in batches:
                for record in batch:
                    yield outcome(self._encoder, record)
        else:
            yield from self._from_pool(batches)

    def _from_pool(self, batches: Iterable[Sequence[bytes]]) -> Iterator[Outcome]:
        assert self._pool is not None, "workers are used inside their with block"
        pending: deque[Future[list[Outcome]]] = deque()
        try:
            for batch in batches:
                pending.append(self._pool.submit(_encode, list(batch)))
                if len(pending) > 2 * self._count:
                    yield from pending.popleft().result()
            while pending:
                yield from pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()


def available_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_worker_encoder: ConversationEncoder | None = None


def _start(tokenizer: str) -> None:
    """Prepares a worker: the parent alone answers Ctrl-C, and a worker whose parent is gone goes too."""
    global _worker_encoder  # noqa: PLW0603  (one worker, one encoder)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _worker_encoder = _encoder(tokenizer)


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def _encode(batch: list[bytes]) -> list[Outcome]:
    assert _worker_encoder is not None, "a worker is prepared before its first batch"
    return [outcome(_worker_encoder, record) for record in batch]


def _encoder(name: str) -> ConversationEncoder:
    tokenizer = read_tokenizer(name)
    return ConversationEncoder(tokenizer, tokenizer.chat_template())
