"""Conversations to token ids and loss masks, many at a time.

Three ways give the same. Of the two here, `PieceEncoder` cuts texts where a tokenizer of Qwen's form must cut too, and
encodes each word once; `WholeEncoder` gives a tokenizer of any form the whole text, and takes the mask from character
offsets. `joined_text` has the third, for the embedded tokenizer.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from openrecipes.rows.chat_template import ChatTemplate
from openrecipes.rows.conversations import Conversation, Skipped, SkipReason
from openrecipes.rows.loss_mask import Span, is_switched_on, mask_of_offsets, supervised_spans
from openrecipes.rows.pretokens import BREAK_RUN, MAX_KEPT_CHARACTERS, PretokenCache, pretokens, stored_ids
from openrecipes.rows.tokenizer import Tokenizer


@dataclass(frozen=True, kw_only=True, slots=True)
class Rendered:
    """A conversation as text, with the half-open character spans that are supervised: at least one.

    `switches` has for each assistant message, in order, whether its span is among them.
    """

    text: str
    spans: tuple[Span, ...]
    switches: tuple[bool, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Encoded:
    """Conversations one after the other, each behind an EOS that is not supervised.

    `ids` as int32 little endian, `mask` as one byte a token, `lengths` the tokens of each without its EOS.
    """

    ids: bytes
    mask: bytes
    lengths: tuple[int, ...]


def rendered(conversation: Conversation, template: ChatTemplate) -> Rendered:
    """The conversation's text and supervised spans. Raises: Skipped, also where nothing would be supervised."""
    text = template.text(conversation)
    if not _is_unicode(text):
        raise Skipped(SkipReason.LONE_SURROGATE)
    spans = supervised_spans(text, conversation.messages)
    if not spans:
        raise Skipped(SkipReason.NOTHING_SUPERVISED)
    switches = tuple(map(is_switched_on, conversation.assistant_messages))
    return Rendered(text=text, spans=tuple(spans), switches=switches)


def _is_unicode(text: str) -> bool:
    """Whether a text can be written as UTF-8: JSON can hold half a surrogate pair."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


class WholeEncoder:
    """For a tokenizer of any form."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._eos = stored_ids([tokenizer.eos_id])

    def encoded(self, conversations: Sequence[Rendered]) -> Encoded:
        """The conversations' tokens."""
        ids: list[bytes] = []
        masks: list[bytes] = []
        for one in conversations:
            found, offsets = self._tokenizer.encode_with_offsets(one.text)
            ids += self._eos, stored_ids(found)
            masks += b"\0", mask_of_offsets(offsets, one.spans, len(one.text)).tobytes()
        return Encoded(ids=b"".join(ids), mask=b"".join(masks), lengths=tuple(map(len, masks[1::2])))


class PieceEncoder:
    """For a tokenizer that cuts like Qwen's; keeps what it has seen of words."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        special = tokenizer.special_tokens
        self._eos = tokenizer.eos_token
        # EOS need not be one of the tokens that cut a text.
        known = {token: stored_ids([index]) for token, index in {**special, self._eos: tokenizer.eos_id}.items()}
        self._cache = PretokenCache(tokenizer.encode_many, known)
        longest_first = sorted(special, key=lambda token: (-len(token), token))
        self._special = re.compile(f"({'|'.join(map(re.escape, longest_first)) or '(?!)'})")
        self._runs: dict[tuple[str, tuple[Span, ...]], tuple[tuple[str, bool], ...]] = {}

    def encoded(self, conversations: Sequence[Rendered]) -> Encoded:
        """The conversations' tokens."""
        batch = _Pieces()
        for one in conversations:
            batch.begin(self._eos)
            self._add(one, batch)
        return batch.encoded(self._cache)

    def _add(self, one: Rendered, batch: "_Pieces") -> None:
        """Add a conversation's pieces: special tokens, and the texts between them by their words."""
        text, cache = one.text, self._cache
        # Where supervision begins or ends; the last edge lies behind the text and is never met.
        edges = iter([*(edge for span in one.spans for edge in span), len(text) + 1])
        edge, supervised, position = next(edges), False, 0
        for part in self._special.split(text):
            end = position + len(part)
            while edge <= position:
                edge, supervised = next(edges), not supervised
            if edge < end:
                self._add_straddling(part, position, one.spans, batch)
            elif part:
                is_known = len(part) <= MAX_KEPT_CHARACTERS and part in cache
                batch.add((part,) if is_known else pretokens(part), supervised=supervised)
            position = end

    def _add_straddling(self, part: str, position: int, spans: Sequence[Span], batch: "_Pieces") -> None:
        """Add a part without special tokens of which spans cover some, cut at their edges.

        Every edge inside such a part follows a line break. The tokenizer cuts there too, unless whitespace with
        another line break follows: then the run of line breaks is looked at token by token.
        """
        inner = [(max(a - position, 0), min(b - position, len(part))) for a, b in spans]
        inner = [(a, b) for a, b in inner if a < b]
        start = 0
        for edge in (edge for span in inner for edge in span if 0 < edge < len(part)):
            if edge < start:
                continue
            assert part[edge - 1] == "\n", "an edge of a span follows a special token or a line break"
            run = BREAK_RUN.match(part, edge)
            end = edge if run is None else run.end()
            if run is None:
                batch.add(pretokens(part[start:end]), supervised=_covers(inner, start))
            else:
                for token, masked in self._tokens(part[start:end], [(a - start, b - start) for a, b in inner]):
                    batch.add((token,), supervised=masked)
            start = end
        if start < len(part):
            batch.add(pretokens(part[start:]), supervised=_covers(inner, start))

    def _tokens(self, text: str, spans: Sequence[Span]) -> tuple[tuple[str, bool], ...]:
        """The tokens of a short text, each by a name under which the cache knows it, and its mask."""
        inside = tuple((max(a, 0), min(b, len(text))) for a, b in spans if a < len(text) and b > 0)
        found = self._runs.get((text, inside))
        if found is None:
            ids, offsets = self._tokenizer.encode_with_offsets(text)
            # Half a surrogate pair stands in no text that gets here, so no word has such a name.
            names = [f"\ud800{index}" for index in ids]
            self._cache.know({name: stored_ids([index]) for name, index in zip(names, ids, strict=True)})
            mask = mask_of_offsets(offsets, inside, len(text)).astype(bool).tolist()
            found = tuple(zip(names, mask, strict=True))
            if len(self._runs) < 10_000 and len(text) <= MAX_KEPT_CHARACTERS:
                self._runs[text, inside] = found
        return found


class _Pieces:
    """The pieces of a batch, in runs that are all supervised or all not; no run goes over two conversations."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._run_starts: list[int] = []
        self._run_masks: list[bool] = []
        self._conversation_starts: list[int] = []

    def begin(self, eos: str) -> None:
        """Begin a conversation behind an EOS."""
        self._conversation_starts.append(len(self._run_starts))
        self._run_starts.append(len(self._pieces))
        self._run_masks.append(False)
        self._pieces.append(eos)

    def add(self, pieces: Sequence[str], *, supervised: bool) -> None:
        """Add pieces, at least one."""
        if supervised is not self._run_masks[-1]:
            self._run_starts.append(len(self._pieces))
            self._run_masks.append(supervised)
        self._pieces += pieces

    def encoded(self, cache: PretokenCache) -> Encoded:
        """The batch's tokens, masks by runs, and lengths by conversations."""
        if not self._pieces:
            return Encoded(ids=b"", mask=b"", lengths=())
        stored, counts = cache.encoded(self._pieces)
        run_tokens = np.add.reduceat(counts, self._run_starts)
        mask = np.repeat(np.array(self._run_masks, dtype=np.uint8), run_tokens)
        lengths = np.add.reduceat(run_tokens, self._conversation_starts) - 1
        return Encoded(ids=b"".join(stored), mask=mask.tobytes(), lengths=tuple(lengths.tolist()))


def _covers(spans: Sequence[Span], position: int) -> bool:
    return any(a <= position < b for a, b in spans)
