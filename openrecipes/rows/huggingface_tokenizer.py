"""A Hugging Face tokenizer from disk: `tokenizer.json`, and what the files beside it say."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openrecipes.problems import Place, Problem, UsageError, unreadable
from openrecipes.rows.chat_template import ChatTemplate, JinjaTemplate, PlainTemplate
from openrecipes.rows.pretokens import PATTERN, stored_ids

_QWEN_TURN_END = "<|im_end|>"


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenizerFiles:
    """The files of a Hugging Face tokenizer: `tokenizer.json`, and what its folder says about it."""

    path: Path
    content: bytes
    document: Mapping[str, Any]
    config: Mapping[str, Any]
    template: str | None


class HuggingFaceTokenizer:
    """A `tokenizer.json` with its configuration, through the tokenizers package."""

    def __init__(self, files: TokenizerFiles) -> None:
        from tokenizers import Tokenizer as Backend  # noqa: PLC0415

        self._files = files
        self.name = str(files.path)
        self.sha256 = hashlib.sha256(files.content).hexdigest()
        try:
            self._backend = Backend.from_str(files.content.decode())
        except Exception as error:  # the package raises plain Exception for a file that it cannot take
            raise unreadable(str(files.path), f"is no tokenizer.json: {error}", "name a tokenizer") from error
        self._backend.no_truncation()
        self._backend.no_padding()
        added = files.document.get("added_tokens") or ()
        # The backend's ids, not the file's: where those leave gaps, it closes them.
        self.special_tokens = {item["content"]: int(self._backend.token_to_id(item["content"]) or 0) for item in added}
        self.eos_token, self.eos_id = self._eos()
        self.cuts_like_qwen = _cuts_like_qwen(files.document)

    def _eos(self) -> tuple[str, int]:
        declared = _token_text(self._files.config.get("eos_token"))
        eos = declared or (_QWEN_TURN_END if _QWEN_TURN_END in self.special_tokens else None)
        index = None if eos is None else self._backend.token_to_id(eos)
        if eos is None or index is None:
            what = f"eos_token {declared} is not in the vocabulary" if declared else "names no eos_token"
            mend = "put its tokenizer_config.json beside tokenizer.json"
            raise UsageError(Problem(place=Place(file=self.name), rule="tokenizer-eos", what=what, mend=mend))
        return eos, int(index)

    @property
    def pad_id(self) -> int | None:
        """The id of `pad_token`, or None if the configuration names none."""
        pad = _token_text(self._files.config.get("pad_token"))
        return None if pad is None else self._backend.token_to_id(pad)

    @property
    def vocabulary_size(self) -> int:
        """One more than the largest id."""
        return 1 + max(self._backend.get_vocab(with_added_tokens=True).values())

    def encode_many(self, texts: Sequence[str]) -> list[bytes]:
        """Ids of texts, each as int32 little endian; special tokens in them are found."""
        encoded = self._backend.encode_batch_fast(list(texts), add_special_tokens=False)
        return [stored_ids(one.ids) for one in encoded]

    def encode_with_offsets(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """Ids and character spans of a text."""
        encoded = self._backend.encode(text, add_special_tokens=False)
        return list(encoded.ids), list(encoded.offsets)

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids."""
        return str(self._backend.decode(list(ids), skip_special_tokens=False))

    def chat_template(self) -> ChatTemplate:
        """The folder's own, or ours where it has none and knows Qwen's turn marks."""
        if self._files.template is not None:
            tokens = {key: _token_text(self._files.config.get(key)) for key in ("bos_token", "eos_token", "pad_token")}
            known = {key: token for key, token in tokens.items() if token is not None}
            return JinjaTemplate(self._files.template, special_tokens=known)
        if "<|im_start|>" in self.special_tokens and "<|im_end|>" in self.special_tokens:
            return PlainTemplate()
        mend = "put its chat_template.jinja or tokenizer_config.json beside tokenizer.json"
        raise UsageError(
            Problem(place=Place(file=self.name), rule="tokenizer-template", what="has no chat template", mend=mend)
        )


def _token_text(value: Any) -> str | None:
    """A token in either of the forms that tokenizer_config.json has for it."""
    text = value.get("content") if isinstance(value, dict) else value
    return text if isinstance(text, str) else None


def _cuts_like_qwen(document: Mapping[str, Any]) -> bool:
    """Whether normalizer, pre-tokenizer and added tokens are those for which `pretokens` is right."""
    added = document.get("added_tokens") or ()
    flags = ("single_word", "lstrip", "rstrip", "normalized")
    if any(token.get(flag) for token in added for flag in flags):
        return False
    after = document.get("post_processor") or {"type": "ByteLevel"}
    if after.get("type") not in ("ByteLevel", "TemplateProcessing") or after.get("trim_offsets"):
        return False  # trimmed offsets take blanks out of the mask
    if document.get("normalizer") != {"type": "NFC"} or (document.get("model") or {}).get("dropout"):
        return False
    before = document.get("pre_tokenizer") or {}
    steps: Sequence[Mapping[str, Any]] = before.get("pretokenizers") or ()
    return before.get("type") == "Sequence" and len(steps) == 2 and _is_split(steps[0]) and _is_bytes(steps[1])


def _is_split(step: Mapping[str, Any]) -> bool:
    """Whether a pre-tokenizer step isolates the matches of Qwen3.5's pattern."""
    return (
        step.get("type") == "Split"
        and step.get("pattern") == {"Regex": PATTERN}
        and step.get("behavior") == "Isolated"
        and not step.get("invert")
    )


def _is_bytes(step: Mapping[str, Any]) -> bool:
    """Whether a pre-tokenizer step only turns bytes into letters."""
    return step.get("type") == "ByteLevel" and not step.get("add_prefix_space") and step.get("use_regex") is False
