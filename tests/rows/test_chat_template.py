"""The text of a conversation: ours against a Jinja template of the same form, and what is refused."""

from typing import Any

import pytest
from conversation_strategies import messages_with_markup
from hypothesis import given, settings
from qwen_form import TEMPLATE

from openrecipes.rows.chat_template import JinjaTemplate, PlainTemplate, plain_text
from openrecipes.rows.conversations import Conversation, Skipped, SkipReason, conversation

USER, ASK = {"role": "user", "content": "hi"}, "<|im_start|>user\nhi<|im_end|>\n"


def said(content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **more}


CALL = {"function": {"name": "f", "arguments": {"a": 1, "b": ["x"], "c": True, "d": None}}}
CALL_TEXT = (
    '<tool_call>\n<function=f>\n<parameter=a>\n1\n</parameter>\n<parameter=b>\n["x"]\n</parameter>\n'
    "<parameter=c>\nTrue\n</parameter>\n<parameter=d>\nNone\n</parameter>\n</function>\n</tool_call>"
)

JINJA = JinjaTemplate(TEMPLATE, special_tokens={})  # compiled once

CASES: dict[str, tuple[list[dict[str, Any]], str]] = {
    "one turn": ([USER, said("yo")], ASK + "<|im_start|>assistant\n<think>\n\n</think>\n\nyo<|im_end|>\n"),
    "blanks around are dropped": (
        [USER, said(" \n yo \n")],
        ASK + "<|im_start|>assistant\n<think>\n\n</think>\n\nyo<|im_end|>\n",
    ),
    "only turns after the last question think": (
        [USER, said("<think>\nhm\n</think>\n\na"), USER, said("<think>\nso\n</think>\n\nb")],
        ASK
        + "<|im_start|>assistant\na<|im_end|>\n"
        + ASK
        + "<|im_start|>assistant\n<think>\nso\n</think>\n\nb<|im_end|>\n",
    ),
    "reasoning beside the content": (
        [USER, said("b", reasoning_content=" so ")],
        ASK + "<|im_start|>assistant\n<think>\nso\n</think>\n\nb<|im_end|>\n",
    ),
    "empty answer and null answer": (
        [USER, said(""), said(None)],
        ASK + "<|im_start|>assistant\n<think>\n\n</think>\n\n<|im_end|>\n" * 2,
    ),
    "system prompt and parts": (
        [
            {"role": "system", "content": "be\n"},
            {"role": "user", "content": [{"text": "h"}, {"type": "text", "text": "i"}]},
            said("b"),
        ],
        "<|im_start|>system\nbe<|im_end|>\n" + ASK + "<|im_start|>assistant\n<think>\n\n</think>\n\nb<|im_end|>\n",
    ),
    "tool calls and consecutive results": (
        [
            USER,
            said("", tool_calls=[CALL, CALL]),
            {"role": "tool", "content": "1"},
            {"role": "tool", "content": "2"},
            said("b"),
        ],
        ASK + f"<|im_start|>assistant\n<think>\n\n</think>\n\n{CALL_TEXT}\n{CALL_TEXT}<|im_end|>\n"
        "<|im_start|>user\n<tool_response>\n1\n</tool_response>\n<tool_response>\n2\n</tool_response><|im_end|>\n"
        "<|im_start|>assistant\n<think>\n\n</think>\n\nb<|im_end|>\n",
    ),
    "a tool's answer from a user is no question": (
        [
            USER,
            said("a", tool_calls=[CALL]),
            {"role": "user", "content": "<tool_response>\n1\n</tool_response>"},
            said("b"),
        ],
        ASK + f"<|im_start|>assistant\n<think>\n\n</think>\n\na\n\n{CALL_TEXT}<|im_end|>\n"
        "<|im_start|>user\n<tool_response>\n1\n</tool_response><|im_end|>\n"
        "<|im_start|>assistant\n<think>\n\n</think>\n\nb<|im_end|>\n",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_text_of_known_conversations(name: str) -> None:
    messages, text = CASES[name]
    assert plain_text(conversation({"messages": messages}).messages) == text
    assert JINJA.text(conversation({"messages": messages})) == text


REFUSED: dict[str, tuple[list[dict[str, Any]], SkipReason]] = {
    "second system turn": ([USER, said("a"), {"role": "system", "content": "x"}], SkipReason.SYSTEM_NOT_FIRST),
    "nobody asks": ([{"role": "system", "content": "x"}, said("a")], SkipReason.NO_USER),
    "arguments as text": (
        [USER, said("", tool_calls=[{"function": {"name": "f", "arguments": "{}"}}])],
        SkipReason.BAD_TOOL_CALL,
    ),
    "a call without a name": ([USER, said("", tool_calls=[{"function": {}}])], SkipReason.BAD_TOOL_CALL),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_qwens_template_refuses_is_skipped(name: str) -> None:
    messages, reason = REFUSED[name]
    with pytest.raises(Skipped) as caught:
        plain_text(conversation({"messages": messages}).messages)
    assert caught.value.reason is reason
    with pytest.raises(Skipped) as caught:
        JINJA.text(conversation({"messages": messages}))
    assert caught.value.reason is SkipReason.TEMPLATE_REFUSED


@settings(max_examples=300, deadline=None)
@given(messages_with_markup)
def test_ours_and_a_jinja_template_of_the_same_form_agree(messages: list[dict[str, Any]]) -> None:
    ours, theirs = (_text(template, messages) for template in (PlainTemplate(), JINJA))
    assert ours == theirs


def _text(template: PlainTemplate | JinjaTemplate, messages: list[dict[str, Any]]) -> str | None:
    try:
        return template.text(conversation({"messages": messages}))
    except Skipped:
        return None


def test_a_list_of_tools_needs_the_tokenizers_own_template() -> None:
    found = conversation({"messages": [USER, said("a")], "tools": [{"name": "f"}]})
    with pytest.raises(Skipped) as caught:
        PlainTemplate().text(found)
    assert caught.value.reason is SkipReason.NEEDS_TEMPLATE
    assert JinjaTemplate("{{ tools | tojson }}", special_tokens={}).text(found) == '[{"name": "f"}]'


@pytest.mark.parametrize(
    "template",
    [
        "{{ messages.__class__.__mro__ }}",
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ cycler.__init__.__globals__.os.system('id') }}",
        "{{ messages.append(1) }}",
        "{% include '/etc/passwd' %}",
        "{{ nothing.at.all }}",
        "{% for",
    ],
)
def test_a_hostile_or_broken_template_only_refuses(template: str) -> None:
    with pytest.raises(Skipped) as caught:
        print(JinjaTemplate(template, special_tokens={}).text(Conversation(messages=(USER, said("a")))))
    assert caught.value.reason is SkipReason.TEMPLATE_REFUSED
