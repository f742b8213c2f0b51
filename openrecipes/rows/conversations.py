"""One record of a source, as a conversation in Tulu 3's form or as the reason why it is none.

`messages` is a list of `{role, content}`, with `reasoning_content`, `tool_calls` and `step_loss_mask`
where a message has them; `tools`, `source` and `id` may stand beside it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

ROLES = frozenset({"system", "user", "assistant", "tool"})

Message = Mapping[str, Any]


class SkipReason(StrEnum):
    """Why a conversation is left out of the rows; the manifest counts each."""

    NOT_JSON = "not-json"
    NO_MESSAGES = "no-messages"
    BAD_MESSAGE = "message-without-role-and-content"
    UNKNOWN_ROLE = "unknown-role"
    BAD_CONTENT = "content-neither-text-nor-text-parts"
    LONE_SURROGATE = "text-with-lone-surrogate"
    NO_ASSISTANT = "no-assistant"
    NO_USER = "no-user"
    SYSTEM_NOT_FIRST = "system-not-first"
    BAD_TOOL_CALL = "tool-call-without-name-and-arguments"
    NEEDS_TEMPLATE = "tools-need-the-tokenizers-own-chat-template"
    TEMPLATE_REFUSED = "chat-template-refused"
    MARKUP_IN_TEXT = "chat-markup-in-text"
    NO_HEADER = "assistant-header-not-in-rendered-text"
    NOTHING_SUPERVISED = "nothing-supervised"


class Skipped(Exception):  # noqa: N818  (a verdict on one conversation, counted, never shown as an error)
    """Leaves a conversation out, for a reason that is counted."""

    def __init__(self, reason: SkipReason) -> None:
        super().__init__(reason.value)
        self.reason = reason


@dataclass(frozen=True, kw_only=True, slots=True)
class Conversation:
    """Messages in order, each a mapping with `role` and `content` and without keys that hold null."""

    messages: tuple[Message, ...]
    tools: tuple[Any, ...] | None = None
    source: str | None = None
    id: str | None = None

    @property
    def assistant_messages(self) -> tuple[Message, ...]:
        """The messages whose tokens may be supervised, in order."""
        return tuple(message for message in self.messages if message["role"] == "assistant")


def conversation(record: Any) -> Conversation:
    """The conversation that a record holds.

    Null content is an empty text, as the chat template has it. A key that a columnar file fills with null is
    a key that is not there: this matters for `step_loss_mask`, which slime takes as a switch-off if null.

    Raises: Skipped with the first reason against it.
    """
    messages = record.get("messages") if isinstance(record, dict) else None
    if not isinstance(messages, list) or not messages:
        raise Skipped(SkipReason.NO_MESSAGES)
    kept = tuple(_message(message) for message in messages)
    roles = [message["role"] for message in kept]
    if "assistant" not in roles:
        raise Skipped(SkipReason.NO_ASSISTANT)
    tools = record.get("tools")
    return Conversation(
        messages=kept,
        tools=tuple(tools) if isinstance(tools, list) and tools else None,
        source=_text_or_none(record.get("source")),
        id=_text_or_none(record.get("id")),
    )


def text_of(content: Any) -> str:
    """The text of a message's content: a text, parts of text joined, or nothing.

    Raises: Skipped if a part is no text (an image, a bare word, a number).
    """
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise Skipped(SkipReason.BAD_CONTENT)
    return "".join(_part(part) for part in content)


def _part(part: Any) -> str:
    text = part.get("text") if isinstance(part, dict) else None
    if not isinstance(text, str) or part.get("type", "text") not in ("text", None):
        raise Skipped(SkipReason.BAD_CONTENT)
    return text


def _message(message: Any) -> Message:
    if not isinstance(message, dict):
        raise Skipped(SkipReason.BAD_MESSAGE)
    role, content = message.get("role"), message.get("content")
    if not isinstance(role, str):
        raise Skipped(SkipReason.BAD_MESSAGE)
    if role not in ROLES:
        raise Skipped(SkipReason.UNKNOWN_ROLE)
    text_of(content)
    kept = {key: value for key, value in message.items() if value is not None}
    return {**kept, "role": role, "content": content}


def _text_or_none(value: Any) -> str | None:
    return None if value is None else str(value)[:200]
