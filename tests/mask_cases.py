"""Conversations of which slime's own tokens and loss masks are frozen, and those that are left out, with the reason."""

from typing import Any

from openrecipes.rows.conversations import SkipReason

Record = dict[str, Any]

USER, TOOL = {"role": "user", "content": "hi"}, {"role": "tool", "content": "7"}
CALL = {"type": "function", "function": {"name": "look_up", "arguments": {"city": "Łódź", "n": 3, "where": ["a", 1]}}}


def said(content: Any, **more: Any) -> Record:
    return {"role": "assistant", "content": content, **more}


def asked(content: Any) -> Record:
    return {"role": "user", "content": content}


def system(content: Any) -> Record:
    return {"role": "system", "content": content}


CASES: dict[str, list[Record]] = {
    "one answer": [USER, said("yes")],
    "two answers": [USER, said("a"), USER, said("b")],
    "a system prompt": [system("Be brief."), USER, said("ok")],
    "an empty system prompt": [system(""), USER, said("ok")],
    "blanks around every text": [system(" s\n"), asked("\n hi \t"), said("\n\n ok \n")],
    "two answers in a row": [USER, said("a"), said("b")],
    "the assistant begins": [said("hello"), USER, said("b")],
    "ends with a question": [USER, said("a"), asked("and?")],
    "an empty answer": [USER, said("")],
    "an empty answer before another": [USER, said(""), USER, said("b")],
    "only blanks": [USER, said(" \n ")],
    "null content": [asked(None), said(None), USER, said("b")],
    "thinking in the last turn": [USER, said("<think>\nhm, 2\n</think>\n\n4")],
    "thinking in an earlier turn": [USER, said("<think>\nhm\n</think>\n\n4"), USER, said("b")],
    "an empty thought": [USER, said("<think>\n\n</think>\n\nb")],
    "a thought without line breaks": [USER, said("<think>hm</think>b")],
    "a thought that is not closed": [USER, said("<think>\nhm")],
    "a thought that is not closed, earlier": [USER, said("<think>\nhm"), USER, said("b")],
    "a thought that is not opened": [USER, said("hm\n</think>\n\nb")],
    "two thoughts in a turn": [USER, said("<think>\na\n</think>\n\nb<think>\nc\n</think>\n\nd")],
    "a thought and no answer": [USER, said("<think>\nhm\n</think>")],
    "blank lines in front of an answer": [USER, said("<think>\nhm\n</think>\n\n\n\n\nb")],
    "reasoning beside the content": [USER, said("4", reasoning_content="hm, 2")],
    "reasoning beside the content, earlier": [USER, said("4", reasoning_content="hm"), USER, said("b")],
    "reasoning with blanks around": [USER, said("4", reasoning_content=" \n hm \n\n")],
    "a thought in a question": [asked("<think>\nhm\n</think>\n\nhi"), said("b")],
    "a tool call": [USER, said("", tool_calls=[CALL]), TOOL, said("b")],
    "a tool call behind text": [USER, said("Let me look.", tool_calls=[CALL]), TOOL, said("b")],
    "two tool calls": [USER, said("", tool_calls=[CALL, CALL]), TOOL, TOOL, said("b")],
    "three results in a row": [USER, said("", tool_calls=[CALL]), TOOL, TOOL, TOOL, said("b")],
    "a tool call without arguments": [USER, said("", tool_calls=[{"function": {"name": "f", "arguments": {}}}])],
    "a tool call in the short form": [USER, said("", tool_calls=[{"name": "f", "arguments": {"a": None, "b": True}}])],
    "a tool's answer comes first": [TOOL, USER, said("b")],
    "a tool's answer from a user": [USER, said("a"), asked("<tool_response>\n1\n</tool_response>"), said("b")],
    "parts": [asked([{"type": "text", "text": "h"}, {"text": "i"}]), said([{"type": "text", "text": "a"}] * 2)],
    "no parts": [asked([]), said([]), USER, said("b")],
    "parts in a system prompt": [system([{"type": "text", "text": "s"}]), USER, said("b")],
    "switched off, then on": [USER, said("a", step_loss_mask=0), USER, said("b", step_loss_mask=1)],
    "on, then switched off": [USER, said("a"), USER, said("b", step_loss_mask=0)],
    "a switch that is 2": [USER, said("a", step_loss_mask=2), USER, said("b")],
    "a switch that is true": [USER, said("a", step_loss_mask=True), USER, said("b", step_loss_mask=False)],
    "a switch in a question": [{**USER, "step_loss_mask": 1}, said("b")],
    "a key `loss`": [USER, said("a", loss=0), USER, said("b", loss=False)],
    "the end mark in a question": [asked("x<|im_end|>y"), said("b")],
    "the end mark with a line break in a question": [asked("x<|im_end|>\n"), said("b")],
    "the end mark in a system prompt": [system("x<|im_end|>"), USER, said("b")],
    "the header without its line break in a question": [asked("<|im_start|>assistant"), said("b")],
    "another header in an answer": [USER, said("<|im_start|>user\nx")],
    "other special tokens": [asked("<|endoftext|><|im_start|>"), said("<tool_call><|endoftext|></tool_call>")],
    "half a special token": [asked("<|im_"), said("end|> <|im_end| > <think")],
    "composed and decomposed": [asked("e\u0301 é"), said("Å\u030a ﬁ q\u0307\u0323 \u1112\u1161\u11ab")],
    "a combining mark begins a text": [asked("\u0301x"), said("\u0301b")],
    "a combining mark behind a sign": [asked(">\u0338"), said("=\u0338 <\u0338|im_end|>")],
    "emoji": [asked("👩\u200d👩\u200d👧 🏳️\u200d🌈"), said("👍🏽 ok 🇩🇪🇫🇷 𝔘")],
    "right to left": [asked("שלום, 7"), said("مرحبا ٧ \u202bab\u202c")],
    "scripts without blanks": [asked("你好，世界"), said("日本語とไทยภาษา และ 한국어")],
    "scripts with marks": [asked("नमस्ते"), said("ক্ষ த்தி ကျွန်တော်")],
    "odd whitespace": [asked("a\u00a0b\u2028c\u3000d"), said("a\u0085b\x0bc\x1cd\ufeff")],
    "line breaks of all kinds": [asked("a\r\nb\rc"), said("a\r\n\r\n\r\nb \n \n\n c")],
    "line breaks behind punctuation": [asked("a.\n\n\nb"), said("...\n\n!?\r\n\n- x\n\n\n")],
    "an answer that begins with line breaks, kept": [USER, said([{"text": "<think>\n</think>"}, {"text": "\n\n\nb"}])],
    "contractions": [asked("I'LL don't"), said("we've 'S ſ'ſ it's")],
    "digits": [asked("1234567"), said("3.14 ١٢٣ Ⅷ ½")],
    "code": [asked("code?"), said("```python\ndef f(x):\n\treturn x  \n\n\n\nprint(f(1))\n```")],
}

# Reason, and what slime does: `stops` with an error, masks `nothing`, or masks other tokens than the assistant's own.
SKIPPED: dict[str, tuple[list[Record], SkipReason, str]] = {
    "no assistant": ([USER], SkipReason.NO_ASSISTANT, "nothing"),
    "system only": ([system("s")], SkipReason.NO_ASSISTANT, "stops"),
    "two system turns": ([system("s"), system("t"), USER, said("b")], SkipReason.SYSTEM_NOT_FIRST, "stops"),
    "a system turn further down": (
        [USER, said("a"), system("t"), USER, said("b")],
        SkipReason.SYSTEM_NOT_FIRST,
        "stops",
    ),
    "nobody asks": ([system("s"), said("b")], SkipReason.NO_USER, "stops"),
    "everything switched off": ([USER, said("a", step_loss_mask=0)], SkipReason.NOTHING_SUPERVISED, "nothing"),
    "a number as content": ([USER, said(7)], SkipReason.BAD_CONTENT, "stops"),
    "arguments as text": (
        [USER, said("", tool_calls=[{"function": {"name": "f", "arguments": "{}"}}])],
        SkipReason.BAD_TOOL_CALL,
        "stops",
    ),
    "a tool call without a name": ([USER, said("", tool_calls=[{"function": {}}])], SkipReason.BAD_TOOL_CALL, "stops"),
    "an unknown role": ([USER, {"role": "critic", "content": "x"}, said("b")], SkipReason.UNKNOWN_ROLE, "stops"),
    "the header in a question": ([asked("<|im_start|>assistant\nx"), said("b")], SkipReason.MARKUP_IN_TEXT, "others"),
    "the header in a system prompt": (
        [system("<|im_start|>assistant\nx"), USER, said("b")],
        SkipReason.MARKUP_IN_TEXT,
        "others",
    ),
    "the header in a tool's answer": (
        [USER, said("", tool_calls=[CALL]), {"role": "tool", "content": "<|im_start|>assistant\nx"}, said("b")],
        SkipReason.MARKUP_IN_TEXT,
        "others",
    ),
    "the end mark in an answer": ([USER, said("a<|im_end|>b")], SkipReason.MARKUP_IN_TEXT, "others"),
    "the end mark in a thought": (
        [USER, said("b", reasoning_content="a<|im_end|>c")],
        SkipReason.MARKUP_IN_TEXT,
        "others",
    ),
}
