"""Conversations to token ids and loss masks, a batch as one text: as fast as the tokenizer takes text.

The mask comes from the ids. Each special token cuts a text, so where the rule's marks stand in the text, they stand
among the ids, and only the tokens right behind a mark can lie on both sides of an edge: those count, as the rule has
it. Conversations for which this does not hold are given to `PieceEncoder`.
"""

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from openrecipes.rows.embedded_tokenizer import EmbeddedTokenizer
from openrecipes.rows.encode import Encoded, PieceEncoder, Rendered
from openrecipes.rows.loss_mask import END, HEADER, THINK

_OPENING, _SPEAKER = HEADER.removesuffix("assistant\n"), "assistant"
_THOUGHT = THINK.removesuffix("\n")

Ids = NDArray[np.int32]


class JoinedEncoder:
    """For the embedded tokenizer; many threads may use it at once."""

    def __init__(self, tokenizer: EmbeddedTokenizer) -> None:
        self._tokenizer = tokenizer
        special = tokenizer.special_tokens
        self._special = re.compile(f"({'|'.join(map(re.escape, special))})")
        self._opening, self._end, self._thought = special[_OPENING], special[END], special[_THOUGHT]
        self._speaker, self._break = (int(tokenizer.encode_marked(text)[0]) for text in (_SPEAKER, "\n"))
        self._begins_with_break = tokenizer.begins_with("\n")
        assert tokenizer.eos_token == END, "conversations are told apart by the end marks before them"

    def encoded(self, conversations: Sequence[Rendered]) -> Encoded:
        """The conversations' tokens."""
        if not conversations:
            return Encoded(ids=b"", mask=b"", lengths=())
        joined = "".join(part for one in conversations for part in (END, self._normal(one.text)))
        try:
            ids = self._tokenizer.encode_marked(joined)
        except ValueError:  # a text that is too much for the tokenizer's pattern at once
            return PieceEncoder(self._tokenizer).encoded(conversations)
        ends = np.flatnonzero(ids == self._end)
        before = np.cumsum([0, *(1 + one.text.count(END) for one in conversations)])
        starts = np.append(ends[before[:-1]], len(ids))
        mask = self._mask(ids, ends, [switch for one in conversations for switch in one.switches])
        return Encoded(ids=ids.tobytes(), mask=mask.tobytes(), lengths=tuple((np.diff(starts) - 1).tolist()))

    def _normal(self, text: str) -> str:
        """The text in NFC; a special token does not compose with what follows it."""
        if self._tokenizer.is_normal(text):
            return text
        return "".join(
            part if index % 2 else self._tokenizer.normal(part) for index, part in enumerate(self._special.split(text))
        )

    def _mask(self, ids: Ids, ends: NDArray[np.int64], switches: Sequence[bool]) -> NDArray[np.uint8]:
        """The rule `qwen3_5` among ids: `switches` are those of the assistant's messages, in order."""
        padded = np.append(ids, np.full(4, self._end, dtype=ids.dtype))
        headers = np.flatnonzero(ids == self._opening)
        headers = headers[(padded[headers + 1] == self._speaker) & self._begins_with_break[padded[headers + 2]]]
        assert len(headers) == len(switches), "every header in the text is one among the ids"
        switched = np.asarray(switches, dtype=bool)
        headers = headers[switched]
        # A line break of its own is not supervised; one in a token with more behind it is, as all of that token.
        alone = padded[headers + 2] == self._break
        first = headers + 2 + alone
        thinks = alone & (padded[first] == self._thought) & self._begins_with_break[padded[first + 1]]
        first = np.where(thinks, first + 1 + (padded[first + 1] == self._break), first)
        last = ends[np.searchsorted(ends, headers)] + 1
        last += self._begins_with_break[padded[last]]
        edges = np.zeros(len(ids) + 1, dtype=np.int8)
        edges[first] = 1
        edges[last] -= 1
        return np.cumsum(edges[:-1], dtype=np.int8).view(np.uint8)
