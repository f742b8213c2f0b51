"""Token ids and loss masks against slime's own MultiTurnLossMaskGenerator: SLIME_DIR=DIR pytest tests/rows.

$QWEN_TOKENIZER may name the folder of a real Qwen3.5 tokenizer, which then takes the place of the made one.

Both see the same conversations; slime through transformers and the tokenizers package, with a tokenizer.json of the
whole vocabulary in Qwen3.5's form. Where ours leaves a conversation out, slime must stop, or mask nothing, or the text
must hold the markup that its search for the header trips over.
"""

import importlib.util
import json
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conversation_strategies import messages, messages_with_markup, texts, texts_with_markup
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mask_cases import CASES, SKIPPED, Record
from qwen_form import write_tokenizer

from openrecipes.rows.conversations import Conversation, Skipped, SkipReason, conversation
from openrecipes.rows.embedded_tokenizer import EmbeddedTokenizer
from openrecipes.rows.encode import PieceEncoder, WholeEncoder, rendered
from openrecipes.rows.joined_text import JoinedEncoder
from openrecipes.rows.tokenizer import read_tokenizer

pytestmark = [pytest.mark.checkout("SLIME_DIR"), pytest.mark.tool("module:transformers"), pytest.mark.slow]

Pair = tuple[list[int], list[int]]
WHOLE_VOCABULARY = 248_044
FIXTURE = Path(__file__).resolve().parents[2] / "data" / "fixtures" / "conversations.jsonl"
# What each reason to leave a conversation out may be in slime.
STOPS = frozenset(
    {
        SkipReason.NO_USER,
        SkipReason.SYSTEM_NOT_FIRST,
        SkipReason.BAD_TOOL_CALL,
        SkipReason.TEMPLATE_REFUSED,
        SkipReason.BAD_MESSAGE,
        SkipReason.NO_MESSAGES,
        SkipReason.UNKNOWN_ROLE,
        SkipReason.NO_HEADER,
    }
)

# Markup astray, a list of tools without a template for it, and what is no text: an image would be a mark without it.
NO_TEXT_ROWS = frozenset(
    {
        SkipReason.MARKUP_IN_TEXT,
        SkipReason.NEEDS_TEMPLATE,
        SkipReason.LONE_SURROGATE,
        SkipReason.BAD_CONTENT,
    }
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    named = os.environ.get("QWEN_TOKENIZER")
    if named:
        return Path(named)
    return write_tokenizer(tmp_path_factory.mktemp("whole"), count=WHOLE_VOCABULARY)


@pytest.fixture(scope="module")
def slime(folder: Path) -> Callable[[Record], Pair]:
    path = Path(os.environ["SLIME_DIR"]) / "slime" / "utils" / "mask_utils.py"
    spec = importlib.util.spec_from_file_location("slime_mask_utils", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    from transformers import AutoTokenizer

    generator = module.MultiTurnLossMaskGenerator(AutoTokenizer.from_pretrained(folder), tokenizer_type="qwen3_5")

    def masked(record: Record) -> Pair:
        ids, mask = generator.get_loss_mask(record["messages"], tools=record.get("tools"))
        return list(ids), list(mask)

    return masked


class Ours:
    """The embedded vocabulary with our template, and the tokenizer of the folder with its own, each in both ways."""

    def __init__(self, folder: Path, embedded: EmbeddedTokenizer) -> None:
        own = read_tokenizer(str(folder))
        assert own.cuts_like_qwen
        self._ways = [
            (JoinedEncoder(embedded), embedded.chat_template()),
            (PieceEncoder(embedded), embedded.chat_template()),
            (PieceEncoder(own), own.chat_template()),
            (WholeEncoder(own), own.chat_template()),
        ]

    def masked(self, record: Record) -> list[Pair | SkipReason]:
        return [self._one(record, *way) for way in self._ways]

    @staticmethod
    def _one(record: Record, encoder: Any, template: Any) -> Pair | SkipReason:
        try:
            found: Conversation = conversation(record)
            encoded = encoder.encoded([rendered(found, template)])
        except Skipped as verdict:
            return verdict.reason
        return np.frombuffer(encoded.ids, "<i4")[1:].tolist(), list(encoded.mask[1:])


@pytest.fixture(scope="module")
def ours(folder: Path, embedded: EmbeddedTokenizer) -> Ours:
    return Ours(folder, embedded)


def compared(record: Record, ours: Ours, slime: Callable[[Record], Pair]) -> str:
    """What the two make of a record, in a word; an assertion where they may not differ as they do."""
    try:
        theirs: Pair | None = slime(record)
    except Exception:  # whatever slime trips over, a trainer would have stopped there
        theirs = None
    for way, found in enumerate(ours.masked(record)):
        if not isinstance(found, SkipReason):
            assert found == theirs, (way, record)
        elif found in STOPS:
            assert theirs is None, (way, found, record)
        elif found in (SkipReason.NO_ASSISTANT, SkipReason.NOTHING_SUPERVISED):
            assert theirs is None or not any(theirs[1]), (way, found, record)
        else:
            assert found in NO_TEXT_ROWS, (way, found, record)
    first = ours.masked(record)[0]
    return f"left out: {first}" if isinstance(first, SkipReason) else "the same"


def test_the_frozen_cases_are_slimes(slime: Callable[[Record], Pair], golden: Callable[[str, str], None]) -> None:
    lines = [
        f"{name}\t{' '.join(map(str, ids))}\t{''.join(map(str, mask))}\n"
        for name, (ids, mask) in ((name, slime({"messages": case})) for name, case in CASES.items())
    ]
    golden("rows/slime_masks.tsv", "".join(lines))


@pytest.mark.parametrize("name", SKIPPED)
def test_slime_does_with_what_is_left_out_as_said(name: str, slime: Callable[[Record], Pair], ours: Ours) -> None:
    case, reason, does = SKIPPED[name]
    assert reason in ours.masked({"messages": case})
    try:
        _, mask = slime({"messages": case})
    except Exception:  # slime's own, jinja2's, the tokenizer's
        assert does == "stops"
        return
    assert does == ("others" if any(mask) else "nothing")


def with_both_roles(strategy: Any, text: Any) -> Any:
    """Mostly conversations in which somebody asks and the assistant answers."""

    def complete(case: list[Record], question: str, answer: str) -> list[Record]:
        first = 1 if case[0]["role"] == "system" else 0
        return [
            *case[:first],
            {"role": "user", "content": question},
            *case[first:],
            {"role": "assistant", "content": answer},
        ]

    completed = st.builds(complete, strategy, text, text)
    return completed | completed | completed | strategy


@pytest.mark.parametrize(
    "strategy",
    [with_both_roles(messages, texts), with_both_roles(messages_with_markup, texts_with_markup)],
    ids=["plain", "with markup"],
)
def test_thousands_of_generated_conversations(
    strategy: Any, ours: Ours, slime: Callable[[Record], Pair], capsys: pytest.CaptureFixture[str]
) -> None:
    seen: Counter[str] = Counter()

    @settings(max_examples=3_000, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(strategy)
    def compare(case: list[Record]) -> None:
        seen[compared({"messages": case}, ours, slime)] += 1

    compare()
    with capsys.disabled():
        print(f"\n{sum(seen.values()):,} conversations: {dict(seen.most_common())}")
    assert seen["the same"] > 1_000
    assert seen["left out: no-user"] > 10


@settings(max_examples=300, derandomize=True, suppress_health_check=list(HealthCheck))
@given(case=with_both_roles(messages, texts), names=st.lists(texts, min_size=1, max_size=2))
def test_lists_of_tools(case: list[Record], names: list[str], ours: Ours, slime: Callable[[Record], Pair]) -> None:
    tools = [{"type": "function", "function": {"name": name, "parameters": {"é": [1, None]}}} for name in names]
    compared({"messages": case, "tools": tools}, ours, slime)


def test_every_shipped_conversation(
    ours: Ours, slime: Callable[[Record], Pair], capsys: pytest.CaptureFixture[str]
) -> None:
    seen: Counter[str] = Counter()
    for line in FIXTURE.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        if isinstance(record.get("messages"), list):
            seen[compared(record, ours, slime)] += 1
    with capsys.disabled():
        print(f"\n{sum(seen.values()):,} conversations: {dict(seen.most_common())}")
    assert seen["the same"] > 5_400
    assert sum(count > 0 for name, count in seen.items() if name.startswith("left out")) > 5
