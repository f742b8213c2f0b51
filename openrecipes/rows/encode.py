"""A conversation to token ids and loss mask."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from openrecipes.rows.chat_template import ChatTemplate
from openrecipes.rows.conversations import Conversation, Skipped, SkipReason
from openrecipes.rows.loss_mask import Span, mask_of_offsets, supervised_spans
from openrecipes.rows.pretokens import BREAK_RUN, PretokenCache, stored_ids
from openrecipes.rows.tokenizer import Tokenizer

_MASKS = (b"\0", b"\1")


@dataclass(frozen=True, kw_only=True, slots=True)
class Tokens:
    """One conversation: `ids` as int32 little endian, `mask` as one byte a token, 0 or 1."""

    ids: bytes
    mask: bytes

    def __len__(self) -> int:
        return len(self.mask)


class ConversationEncoder:
    """Conversations to tokens with one tokenizer and template; keeps what it has seen of words."""

    def __init__(self, tokenizer: Tokenizer, template: ChatTemplate) -> None:
        self._tokenizer = tokenizer
        self._template = template
        self._cache = PretokenCache(tokenizer.encode)
        self._cache.update({token: stored_ids([index]) for token, index in tokenizer.special_tokens.items()})
        longest_first = sorted(tokenizer.special_tokens, key=lambda token: (-len(token), token))
        self._special = re.compile(f"({'|'.join(map(re.escape, longest_first)) or '(?!)'})")
        self._runs: dict[tuple[str, tuple[Span, ...]], Tokens] = {}

    def tokens(self, conversation: Conversation) -> Tokens:
        """Ids and mask of the rendered conversation, EOS not added.

        Raises: Skipped, also where no token would be supervised.
        """
        text = self._template.text(conversation)
        if not _is_unicode(text):
            raise Skipped(SkipReason.LONE_SURROGATE)
        spans = supervised_spans(text, conversation.messages)
        if not spans:
            raise Skipped(SkipReason.NOTHING_SUPERVISED)
        tokens = self._by_parts(text, spans) if self._tokenizer.cuts_like_qwen else self._whole(text, spans)
        if 1 not in tokens.mask:
            raise Skipped(SkipReason.NOTHING_SUPERVISED)
        return tokens

    def _whole(self, text: str, spans: Sequence[Span]) -> Tokens:
        """For any tokenizer: a text at once, the mask from character offsets."""
        ids, offsets = self._tokenizer.encode_with_offsets(text)
        return Tokens(ids=stored_ids(ids), mask=mask_of_offsets(offsets, spans, len(text)).tobytes())

    def _by_parts(self, text: str, spans: Sequence[Span]) -> Tokens:
        """For Qwen's pre-tokenizer: special tokens and the texts between them, each by its words."""
        ids: list[bytes] = []
        masks: list[bytes] = []
        encode = self._cache.encode
        # Where supervision begins or ends; the one behind the text is never met.
        edges = iter([*(edge for span in spans for edge in span), len(text) + 1])
        edge, supervised, position = next(edges), 0, 0
        for part in self._special.split(text):
            end = position + len(part)
            while edge <= position:
                edge, supervised = next(edges), 1 - supervised
            if edge < end:
                for some in self._straddling(text[position:end], position, spans):
                    ids.append(some.ids)
                    masks.append(some.mask)
            elif part:
                ids.append(encoded := encode(part))
                masks.append(_MASKS[supervised] * (len(encoded) >> 2))
            position = end
        return Tokens(ids=b"".join(ids), mask=b"".join(masks))

    def _straddling(self, part: str, position: int, spans: Sequence[Span]) -> Iterator[Tokens]:
        """A part without special tokens of which spans cover some, cut at their edges.

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
            yield self._run(part[start:end], tuple((max(a, start) - start, min(b, end) - start) for a, b in inner))
            start = end
        if start < len(part):
            encoded = self._cache.encode(part[start:])
            supervised = any(a <= start < b for a, b in inner)
            yield Tokens(ids=encoded, mask=_MASKS[supervised] * (len(encoded) >> 2))

    def _run(self, text: str, spans: tuple[Span, ...]) -> Tokens:
        """A short text up to the end of a run of line breaks, remembered."""
        key = text, tuple((a, b) for a, b in spans if a < b)
        found = self._runs.get(key)
        if found is None:
            found = self._whole(text, key[1])
            if len(self._runs) < 10_000 and len(text) < 100:
                self._runs[key] = found
        return found


def _is_unicode(text: str) -> bool:
    """Whether a text can be written as UTF-8: JSON can hold half a surrogate pair."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
