"""Hypothesis strategies for conversations, with the texts that trip tokenizers and masks."""

from typing import Any

from hypothesis import strategies as st

FRAGMENTS = (
    "hello",
    " world",
    "don't",
    "I'LL",
    "ſ's",
    "x",
    " ",
    "  ",
    "\t",
    "\n",
    "\n\n",
    " \n",
    "\r\n",
    "\n \n",
    "\x0b",
    "\x1c",
    "\x85",
    "\u00a0",
    "\u2028",
    "\u3000",
    "42",
    "3.14",
    ",",
    "...",
    "?!",
    "(a)",
    "—",
    "é",
    "e\u0301",
    "\u0338",
    ">\u0338",
    "Å\u030a",
    "ﬁ",
    "中文",
    "，",
    "日本語",
    "한글",
    "\u1112\u1161\u11ab",
    "שלום",
    "مرحبا",
    "नमस्ते",
    "👩\u200d👩\u200d👧",
    "🏳️\u200d🌈",
    "𝔘",
    "<think>",
    "<think>\n",
    "</think>",
    "</think>\n\n",
    "<tool_call>",
    "<|endoftext|>",
    "<|im_start|>",
    "<|im",
    "<",
    "|>",
    "def f():\n\treturn 1\n",
)
MARKUP = ("<|im_end|>", "<|im_start|>assistant\n", "<|im_start|>assistant", "<|im_end|>\n")

texts = st.lists(st.sampled_from(FRAGMENTS), max_size=8).map("".join) | st.text(max_size=12).filter(
    lambda text: not any("\ud800" <= letter <= "\udfff" for letter in text)
)
texts_with_markup = st.lists(st.sampled_from(FRAGMENTS + MARKUP), max_size=8).map("".join)


def _content(text: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    parts = st.lists(st.builds(lambda words: {"type": "text", "text": words}, text), max_size=3)
    return text | text | text | st.none() | parts


def _messages(text: st.SearchStrategy[str]) -> st.SearchStrategy[list[dict[str, Any]]]:
    values = st.none() | st.booleans() | st.integers(-5, 5) | text | st.lists(st.integers(0, 3), max_size=2)
    call = st.builds(
        lambda arguments: {"type": "function", "function": {"name": "look_up", "arguments": arguments}},
        st.dictionaries(st.sampled_from(("city", "n", "where to")), values, max_size=2),
    )
    user = st.fixed_dictionaries({"role": st.just("user"), "content": _content(text)})
    tool = st.fixed_dictionaries({"role": st.just("tool"), "content": text})
    assistant = st.fixed_dictionaries(
        {"role": st.just("assistant"), "content": _content(text)},
        optional={
            "reasoning_content": text,
            "tool_calls": st.lists(call, min_size=1, max_size=2),
            "step_loss_mask": st.sampled_from((0, 1, 2)),
            "loss": st.booleans(),
        },
    )
    system = st.fixed_dictionaries({"role": st.just("system"), "content": text})
    body = st.lists(user | assistant | assistant | tool, min_size=1, max_size=6)
    return st.builds(lambda first, rest: [*first, *rest], st.lists(system, max_size=1), body)


messages = _messages(texts)
messages_with_markup = _messages(texts_with_markup)
