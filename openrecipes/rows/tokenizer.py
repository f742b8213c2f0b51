"""What a tokenizer is to the rows, and how one is found by name.

Text without special tokens to ids, ids to text, the special tokens that cut a text beforehand, and EOS.
"""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

from openrecipes.problems import unreadable
from openrecipes.rows.chat_template import ChatTemplate
from openrecipes.rows.embedded_tokenizer import EMBEDDED, EmbeddedTokenizer
from openrecipes.rows.huggingface_tokenizer import HuggingFaceTokenizer, TokenizerFiles


class Tokenizer(Protocol):
    """Text to token ids and back."""

    @property
    def name(self) -> str:
        """What the manifest calls it: the name of the embedded one, or a path."""

    @property
    def sha256(self) -> str:
        """Hash of its vocabulary file: what pins a tokenizer."""

    @property
    def special_tokens(self) -> Mapping[str, int]:
        """Tokens that are cut out of a text before anything else, with their ids."""

    @property
    def eos_token(self) -> str:
        """The token put between conversations."""

    @property
    def eos_id(self) -> int:
        """Its id."""

    @property
    def pad_id(self) -> int | None:
        """The id that others pad with, never used here, or None."""

    @property
    def vocabulary_size(self) -> int:
        """One more than the largest id."""

    @property
    def cuts_like_qwen(self) -> bool:
        """Whether a text may be encoded in the pieces of `pretokens`, special tokens cut out first."""

    def encode_many(self, texts: Sequence[str]) -> list[bytes]:
        """Ids of texts without special tokens, each as int32 little endian."""

    def encode_with_offsets(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """Ids and the half-open character span of each."""

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids; bytes that are no UTF-8 become U+FFFD."""

    def chat_template(self) -> ChatTemplate:
        """The template that belongs to it."""


@lru_cache(maxsize=2)
def read_tokenizer(name: str) -> Tokenizer:
    """The embedded tokenizer for its name, else the one in a folder or a `tokenizer.json`.

    Raises: UsageError if there is none, or it lacks what rows need.
    """
    if name == EMBEDDED:
        return EmbeddedTokenizer()
    path = Path(name)
    if path.is_dir():
        path /= "tokenizer.json"
    try:
        content = path.read_bytes()
    except OSError as error:
        mend = "name a Hugging Face tokenizer folder or tokenizer.json, or leave --tokenizer out"
        raise unreadable(str(path), f"cannot be read: {error.strerror}", mend) from error
    document = _json(content, path)
    config_path, template_path = path.with_name("tokenizer_config.json"), path.with_name("chat_template.jinja")
    config = _json(config_path.read_bytes(), config_path) if config_path.is_file() else {}
    template = template_path.read_text(encoding="utf-8") if template_path.is_file() else config.get("chat_template")
    return HuggingFaceTokenizer(
        TokenizerFiles(path=path, content=content, document=document, config=config, template=_default(template))
    )


def _default(template: Any) -> str | None:
    """The template named `default` where there are several."""
    if isinstance(template, list):
        named = {item.get("name"): item.get("template") for item in template if isinstance(item, dict)}
        template = named.get("default")
    return template if isinstance(template, str) else None


def _json(content: bytes, path: Path) -> dict[str, Any]:
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise unreadable(str(path), f"is no JSON: {error}", "name a tokenizer.json") from error
    if not isinstance(document, dict):
        raise unreadable(str(path), "is JSON, but no object", "name a tokenizer.json")
    return document
