"""Fixtures of the rows' tests: tokenizers that take a second to make, and small sources."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from qwen_form import write_tokenizer

from openrecipes.rows.embedded_tokenizer import EMBEDDED, EmbeddedTokenizer
from openrecipes.rows.huggingface_tokenizer import HuggingFaceTokenizer
from openrecipes.rows.tokenizer import read_tokenizer


@pytest.fixture(scope="session")
def embedded() -> EmbeddedTokenizer:
    tokenizer = read_tokenizer(EMBEDDED)
    assert isinstance(tokenizer, EmbeddedTokenizer)
    return tokenizer


@pytest.fixture(scope="session")
def tokenizer_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tokenizer(tmp_path_factory.mktemp("tokenizer"))


@pytest.fixture(scope="session")
def qwen_form(tokenizer_folder: Path) -> HuggingFaceTokenizer:
    tokenizer = read_tokenizer(str(tokenizer_folder))
    assert isinstance(tokenizer, HuggingFaceTokenizer)
    return tokenizer


@pytest.fixture
def jsonl(tmp_path: Path) -> Callable[..., Path]:
    """Writes records as JSONL."""

    def write(records: list[Any], name: str = "source.jsonl") -> Path:
        path = tmp_path / name
        path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), encoding="utf-8")
        return path

    return write


def chat(index: int, words: int = 30) -> dict[str, Any]:
    """A short conversation of its own for each index."""
    question = f"Question {index}: " + " ".join(f"word{index * k % 97}" for k in range(words))
    return {
        "id": f"c{index}",
        "source": "even" if index % 2 == 0 else "odd",
        "messages": [{"role": "user", "content": question}, {"role": "assistant", "content": f"Answer {index}. " * 3}],
    }


@pytest.fixture
def chats() -> Callable[[int], list[dict[str, Any]]]:
    return lambda count: [chat(index) for index in range(count)]
