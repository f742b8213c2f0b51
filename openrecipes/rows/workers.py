"""Records to tokens on several cores, in order.

Threads do it where the tokenizer leaves Python to them meanwhile and there are few; else processes, which cost a second
to start. One worker is the caller itself.
"""

import hashlib
import json
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing import connection, get_context, parent_process
from types import TracebackType
from typing import Self

from openrecipes.rows.conversations import Skipped, SkipReason, conversation
from openrecipes.rows.embedded_tokenizer import EmbeddedTokenizer
from openrecipes.rows.encode import PieceEncoder, Rendered, WholeEncoder, rendered
from openrecipes.rows.joined_text import JoinedEncoder
from openrecipes.rows.tokenizer import Tokenizer, read_tokenizer

# Up to here, threads seldom wait for each other: reading a conversation takes a quarter of the time of encoding it.
_MOST_THREADS = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class EncodedBatch:
    """What became of a batch of records, in order.

    `ids` (int32 little endian) and `mask` (one byte a token) hold the conversations one after the other, each
    behind an EOS. `lengths` holds a conversation's tokens without it, or -1 for a record that was skipped, for
    which `skipped` has the reason by its place in the batch. `sources`, `id_hashes` and `loss_switches` are of
    the conversations that were not skipped, in order.
    """

    ids: bytes
    mask: bytes
    lengths: tuple[int, ...]
    skipped: dict[int, SkipReason]
    sources: tuple[str | None, ...]
    id_hashes: tuple[int | None, ...]
    loss_switches: tuple[int, ...]


class BatchEncoder:
    """Encodes batches with one tokenizer."""

    def __init__(self, tokenizer: str) -> None:
        found = read_tokenizer(tokenizer)
        self._template = found.chat_template()
        self._encoder = _encoder_for(found)

    @property
    def works_in_threads(self) -> bool:
        """Whether several threads may use it, and gain from it."""
        return isinstance(self._encoder, JoinedEncoder)

    def encoded(self, records: list[bytes]) -> EncodedBatch:
        """What becomes of records in JSON; nothing in them raises."""
        texts: list[Rendered] = []
        skipped: dict[int, SkipReason] = {}
        about: list[tuple[str | None, int | None, int]] = []
        for place, record in enumerate(records):
            try:
                found = conversation(_parsed(record))
                texts.append(rendered(found, self._template))
            except Skipped as verdict:
                skipped[place] = verdict.reason
                continue
            switches = sum("loss" in message for message in found.messages)
            about.append((found.source, None if found.id is None else _hash(found.id), switches))
        encoded = self._encoder.encoded(texts)
        lengths = iter(encoded.lengths)
        sources, id_hashes, loss_switches = zip(*about, strict=True) if about else ((), (), ())
        return EncodedBatch(
            ids=encoded.ids,
            mask=encoded.mask,
            lengths=tuple(-1 if place in skipped else next(lengths) for place in range(len(records))),
            skipped=skipped,
            sources=sources,
            id_hashes=id_hashes,
            loss_switches=loss_switches,
        )


def _encoder_for(tokenizer: Tokenizer) -> JoinedEncoder | PieceEncoder | WholeEncoder:
    """The fastest way for a tokenizer; all give the same tokens and masks."""
    if isinstance(tokenizer, EmbeddedTokenizer):
        return JoinedEncoder(tokenizer)
    return PieceEncoder(tokenizer) if tokenizer.cuts_like_qwen else WholeEncoder(tokenizer)


def _hash(text: str) -> int:
    """A hash that is the same in every process, unlike Python's own."""
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def _parsed(record: bytes) -> object:
    try:
        return json.loads(record)
    except (ValueError, RecursionError):
        raise Skipped(SkipReason.NOT_JSON) from None


class Workers:
    """Encodes batches of records, in order, on `count` threads or processes; 1 means the caller's own thread."""

    def __init__(self, tokenizer: str, *, count: int) -> None:
        self._tokenizer = tokenizer
        self._count = count
        self._pool: Executor | None = None
        self._encode: Callable[[list[bytes]], EncodedBatch] = _encoded

    def __enter__(self) -> Self:
        here = BatchEncoder(self._tokenizer) if self._count <= _MOST_THREADS else None
        if here is not None and (self._count == 1 or here.works_in_threads):
            self._encode = here.encoded
            self._pool = ThreadPoolExecutor(self._count) if self._count > 1 else None
        else:
            # Spawned, not forked: a fork copies the locks of threads that do not exist in the child.
            self._pool = ProcessPoolExecutor(
                self._count, mp_context=get_context("spawn"), initializer=_start, initargs=(self._tokenizer,)
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def encoded(self, batches: Iterable[Sequence[bytes]]) -> Iterator[EncodedBatch]:
        """What became of each batch, in order; no more than a few are worked on ahead of what is asked for."""
        if self._pool is None:
            yield from map(self._encode, map(list, batches))
            return
        pending: deque[Future[EncodedBatch]] = deque()
        try:
            for batch in batches:
                pending.append(self._pool.submit(self._encode, list(batch)))
                if len(pending) > 2 * self._count:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()


def available_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_encoder_here: BatchEncoder | None = None


def _start(tokenizer: str) -> None:
    """Prepares a worker: the parent alone answers Ctrl-C, and a worker whose parent is gone goes too."""
    global _encoder_here  # noqa: PLW0603  (one worker, one encoder)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _encoder_here = BatchEncoder(tokenizer)


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def _encoded(batch: list[bytes]) -> EncodedBatch:
    assert _encoder_here is not None, "a worker is prepared before its first batch"
    return _encoder_here.encoded(batch)
