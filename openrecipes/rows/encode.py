"""A conversation to token ids and loss mask."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from openrecipes.rows.chat_template import ChatTemplate
from openrecipes.rows.conversations import Conversation, Skipped, SkipReason
from openrecipes.rows.loss_mask import Span, mask_of_offsets, supervised_spans
from openrecipes.rows.pretokens import BREAK_RUN, PretokenCache, ids_array
from openrecipes.rows.tokenizer import Tokenizer


@dataclass(frozen=True, kw_only=True, slots=True)
class Tokens:
    """One conversation: `ids` int32 and `mask` uint8, both of shape (tokens,)."""

    ids: NDArray[np.int32]
    mask: NDArray[np.uint8]


class ConversationEncoder:
    """Conversations to tokens with one tokenizer and template; keeps what it has seen of words."""

    def __init__(self, tokenizer: Tokenizer, template: ChatTemplate) -> None:
        self._tokenizer = tokenizer
        self._template = template
        self._cache = PretokenCache(tokenizer.encode)
        longest_first = sorted(tokenizer.special_tokens, key=lambda token: (-len(token), token))
        self._special = re.compile("|".join(map(re.escape, longest_first)) or "(?!)")
        self._special_ids = {
            token: np.array([index], dtype="<i4").tobytes() for token, index in tokenizer.special_tokens.items()
        }
        self._runs: dict[tuple[str, tuple[Span, ...]], tuple[bytes, bytes]] = {}

    def tokens(self, conversation: Conversation) -> Tokens:
        """Ids and mask of the rendered conversation, EOS not added.

        Raises: Skipped, also where no token would be supervised.
        """
        text = self._template.text(conversation)
        try:
            text.encode()
        except UnicodeEncodeError:
            raise Skipped(SkipReason.LONE_SURROGATE) from None
        spans = supervised_spans(text, conversation.messages)
        if not spans:
            raise Skipped(SkipReason.NOTHING_SUPERVISED)
        tokens = self._cut(text, spans) if self._tokenizer.cuts_like_qwen else self._whole(text, spans)
        if not tokens.mask.any():
            raise Skipped(SkipReason.NOTHING_SUPERVISED)
        return tokens

    def _whole(self, text: str, spans: Sequence[Span]) -> Tokens:
        """For any tokenizer: the whole text at once, the mask from character offsets."""
        ids, offsets = self._tokenizer.encode_with_offsets(text)
        return Tokens(ids=np.array(ids, dtype="<i4"), mask=mask_of_offsets(offsets, spans, len(text)))

    def _cut(self, text: str, spans: Sequence[Span]) -> Tokens:
        """For Qwen's pre-tokenizer: special tokens and words apart, the mask by pieces."""
        ids: list[bytes] = []
        masks: list[bytes] = []
        for start, end, covers, special in self._pieces(text, spans):
            if special is not None:
                ids.append(self._special_ids[special])
                masks.append(b"\1" if covers else b"\0")
            elif covers is not None:
                ids.append(self._cache.encode(text[start:end]))
                masks.append((b"\1" if covers else b"\0") * (len(ids[-1]) // 4))
            else:
                some, mask = self._straddling(text, start, end, spans)
                ids.append(some)
                masks.append(mask)
        return Tokens(ids=ids_array(b"".join(ids)), mask=np.frombuffer(b"".join(masks), dtype=np.uint8))

    def _pieces(self, text: str, spans: Sequence[Span]) -> Iterator[tuple[int, int, bool | None, str | None]]:
        """Consecutive pieces (start, end, all supervised or none or, as None, in part; its special token)."""
        edges = _Edges(spans)
        position = 0
        for match in self._special.finditer(text):
            start, end = match.span()
            if position < start:
                yield from _plain_pieces(text, position, start, edges)
            # A span never begins or ends inside a special token: its edges follow a line break or one of these.
            yield start, end, edges.inside(start), match.group()
            position = end
        if position < len(text):
            yield from _plain_pieces(text, position, len(text), edges)

    def _straddling(self, text: str, start: int, end: int, spans: Sequence[Span]) -> tuple[bytes, bytes]:
        """Ids and mask of a short piece of which a span covers a part: a run of line breaks."""
        piece = text[start:end]
        inner = tuple((max(a, start) - start, min(b, end) - start) for a, b in spans if a < end and b > start)
        found = self._runs.get((piece, inner))
        if found is None:
            ids, offsets = self._tokenizer.encode_with_offsets(piece)
            mask = mask_of_offsets(offsets, inner, len(piece))
            found = np.array(ids, dtype="<i4").tobytes(), mask.tobytes()
            if len(self._runs) < 10_000:
                self._runs[piece, inner] = found
        return found


class _Edges:
    """The spans' edges, asked for in rising order of position."""

    def __init__(self, spans: Sequence[Span]) -> None:
        self._flat = [edge for span in spans for edge in span]
        self._next = 0

    def inside(self, position: int) -> bool:
        """Whether the character at `position` lies in a span."""
        while self._next < len(self._flat) and self._flat[self._next] <= position:
            self._next += 1
        return self._next % 2 == 1

    def first_within(self, start: int, end: int) -> int | None:
        """The first edge strictly between two positions, or None."""
        self.inside(start)
        edge = self._flat[self._next] if self._next < len(self._flat) else end
        return edge if edge < end else None


def _plain_pieces(text: str, start: int, end: int, edges: _Edges) -> Iterator[tuple[int, int, bool | None, str | None]]:
    """Pieces of a text without special tokens, cut at the edges of spans.

    Every edge in such a text follows a line break. The tokenizer cuts there too, unless whitespace with
    another line break follows: that run of line breaks is one piece, supervised in part.
    """
    while (edge := edges.first_within(start, end)) is not None:
        assert text[edge - 1] == "\n", "an edge of a span follows a special token or a line break"
        run = BREAK_RUN.match(text, edge, end)
        if run is None:
            yield start, edge, edges.inside(start), None
            start = edge
        else:
            yield start, run.end(), None, None
            start = run.end()
    if start < end:
        yield start, end, edges.inside(start), None
