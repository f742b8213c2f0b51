"""A conversation's messages as the one text that is tokenized.

`plain_text` is ours, for the embedded vocabulary: what Qwen3.5's own template makes of text conversations,
thinking and tool calls included. `JinjaTemplate` runs a tokenizer's own template in Jinja's sandbox.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from openrecipes.rows.conversations import Conversation, Message, Skipped, SkipReason, text_of

PLAIN_TEMPLATE = "openrecipes-qwen3.5/1"


class ChatTemplate(Protocol):
    """Turns a conversation into text."""

    @property
    def name(self) -> str:
        """What the manifest calls it."""

    @property
    def sha256(self) -> str | None:
        """Hash of its text, where it has one."""

    def text(self, conversation: Conversation) -> str:
        """The whole conversation as text, without a generation prompt. Raises: Skipped."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PlainTemplate:
    """Ours: the text that Qwen3.5's template gives, without the part that lists tools."""

    name: str = PLAIN_TEMPLATE
    sha256: str | None = None

    def text(self, conversation: Conversation) -> str:
        """The whole conversation as text. Raises: Skipped."""
        if conversation.tools:
            raise Skipped(SkipReason.NEEDS_TEMPLATE)
        return plain_text(conversation.messages)


def plain_text(messages: Sequence[Message]) -> str:
    """The messages between `<|im_start|>` and `<|im_end|>`, thinking only after the last user query.

    Raises: Skipped if a system message is not the first, or no user asks anything.
    """
    contents = [text_of(message["content"]).strip() for message in messages]
    query = _last_query(messages, contents)
    out: list[str] = []
    for index, (message, content) in enumerate(zip(messages, contents, strict=True)):
        role = message["role"]
        if role == "system" and index:
            raise Skipped(SkipReason.SYSTEM_NOT_FIRST)
        if role == "assistant":
            out.append(_assistant(message, content, thinks=index > query))
        elif role == "tool":
            opens = index > 0 and messages[index - 1]["role"] != "tool"
            closes = index + 1 == len(messages) or messages[index + 1]["role"] != "tool"
            out.append("<|im_start|>user" if opens else "")
            out.append(f"\n<tool_response>\n{content}\n</tool_response>{'<|im_end|>' if closes else ''}")
            out.append("\n" if closes else "")
        else:
            out.append(f"<|im_start|>{role}\n{content}<|im_end|>\n")
    return "".join(out)


def _last_query(messages: Sequence[Message], contents: Sequence[str]) -> int:
    """The index of the last user message that is not a tool's answer in disguise."""
    for index in range(len(messages) - 1, -1, -1):
        content = contents[index]
        if messages[index]["role"] == "user" and not (
            content.startswith("<tool_response>") and content.endswith("</tool_response>")
        ):
            return index
    raise Skipped(SkipReason.NO_USER)


def _assistant(message: Message, content: str, *, thinks: bool) -> str:
    reasoning = message.get("reasoning_content")
    if not isinstance(reasoning, str):
        reasoning = ""
        if "</think>" in content:
            reasoning = content.split("</think>", maxsplit=1)[0].rstrip("\n").split("<think>")[-1].lstrip("\n")
            content = content.rsplit("</think>", maxsplit=1)[-1].lstrip("\n")
    thought = f"<think>\n{reasoning.strip()}\n</think>\n\n" if thinks else ""
    calls = _tool_calls(message.get("tool_calls"), after_text=bool(content.strip()))
    return f"<|im_start|>assistant\n{thought}{content}{calls}<|im_end|>\n"


def _tool_calls(calls: Any, *, after_text: bool) -> str:
    if not calls or not isinstance(calls, list | tuple):
        return ""
    between = ["\n\n" if after_text else "", *["\n"] * (len(calls) - 1)]
    return "".join(before + _tool_call(call) for before, call in zip(between, calls, strict=True))


def _tool_call(call: Any) -> str:
    function = call.get("function", call) if isinstance(call, Mapping) else None
    name = function.get("name") if isinstance(function, Mapping) else None
    arguments = function.get("arguments", {}) if isinstance(function, Mapping) else None
    if not isinstance(name, str) or not isinstance(arguments, Mapping):
        raise Skipped(SkipReason.BAD_TOOL_CALL)
    given = "".join(f"<parameter={key}>\n{_argument(value)}\n</parameter>\n" for key, value in arguments.items())
    return f"<tool_call>\n<function={name}>\n{given}</function>\n</tool_call>"


def _argument(value: Any) -> str:
    return _to_json(value) if isinstance(value, Mapping | list | tuple) else str(value)


def _to_json(value: Any, **options: Any) -> str:
    """JSON as chat templates expect it: letters as they are, nothing escaped for HTML."""
    options.setdefault("ensure_ascii", False)
    return json.dumps(value, **options)


class JinjaTemplate:
    """A tokenizer's own chat template, run in Jinja's immutable sandbox."""

    name = "the tokenizer's own chat template"

    def __init__(self, source: str, *, special_tokens: Mapping[str, str]) -> None:
        self.source = source
        self.sha256: str | None = hashlib.sha256(source.encode()).hexdigest()
        self._special_tokens = dict(special_tokens)

    @cached_property
    def _template(self) -> Any:
        from jinja2.ext import loopcontrols  # noqa: PLC0415  (only where a template of one's own is used)
        from jinja2.sandbox import ImmutableSandboxedEnvironment  # noqa: PLC0415

        environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
        environment.filters["tojson"] = _to_json
        environment.globals["raise_exception"] = _refuse
        return environment.from_string(self.source)

    def text(self, conversation: Conversation) -> str:
        """The whole conversation as text. Raises: Skipped if the template refuses it or fails on it."""
        tools = list(conversation.tools) if conversation.tools else None
        try:
            rendered = self._template.render(
                messages=list(conversation.messages), tools=tools, add_generation_prompt=False, **self._special_tokens
            )
        except Skipped:
            raise
        except Exception as error:
            # The template is a foreign program: whatever it trips over, it has refused this conversation.
            raise Skipped(SkipReason.TEMPLATE_REFUSED) from error
        return str(rendered)


def _refuse(message: str) -> None:
    raise Skipped(SkipReason.TEMPLATE_REFUSED) from ValueError(message)
