"""A Hugging Face config.json to the fields of a catalogue entry; what cannot be mapped is a problem by name."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeGuard

from pydantic import JsonValue, ValidationError

from openrecipes.catalog.config_problems import ConfigFile, field_problem
from openrecipes.catalog.data_files import validate
from openrecipes.catalog.families.family import Family
from openrecipes.catalog.families.housekeeping import HOUSEKEEPING, WRAPPER_HOUSEKEEPING
from openrecipes.catalog.families.registry import FAMILIES
from openrecipes.problems import Problem, ProblemsError, in_order, nearest

_MTP: Final = ("mtp_num_hidden_layers", "num_nextn_predict_layers", "num_mtp_layers")
_ROPE: Final = ("rope_parameters", "rope_scaling", "rope_theta", "partial_rotary_factor")
# Position sections are for images and video; text uses all of them alike.
_TEXT_ONLY_ROPE: Final = frozenset({"mrope_interleaved", "mrope_section"})
_NO_DROPOUT: Final[Mapping[str, tuple[JsonValue, ...]]] = {"attention_dropout": (0, None)}


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadConfig:
    """What a config.json says of the text model, and what it has beside it."""

    family: Family[Any]
    fields: Mapping[str, JsonValue]
    not_counted: tuple[str, ...]


def read_config(text: str, file: str) -> ReadConfig:
    """The text model of a config.json.

    Raises: ProblemsError with every field that is missing, cannot be meant or cannot be mapped.
    """
    source = ConfigFile.of(text, file)
    whole = source.value
    family, inner = _family(whole, source)
    prefix = "" if inner is whole else "text_config."
    problems = list(_wrapper_problems(whole, source)) if prefix else []
    fields = dict(family.defaults)
    fields.update({family.renamed.get(name, name): value for name, value in inner.items()})
    if prefix and "tie_word_embeddings" in whole:
        fields["tie_word_embeddings"] = whole["tie_word_embeddings"]
    not_counted = tuple(_not_counted(whole, inner))
    fields["rope_parameters"] = _rope(inner, family)
    _fill(fields, family)
    problems += _fixed_problems(fields, family, prefix, source)
    problems += _unknown_problems(inner, family, prefix, source)
    kept = {name: value for name, value in fields.items() if name in family.form.model_fields}
    try:
        config = validate(kept, family.form)
    except ValidationError as error:
        problems += [field_problem(source, prefix, item, kept) for item in error.errors(include_url=False)]
    if problems:
        raise ProblemsError(*in_order(problems))
    return ReadConfig(family=family, fields=config.stated_fields(), not_counted=not_counted)


def _family(whole: Mapping[str, Any], source: ConfigFile) -> tuple[Family[Any], Mapping[str, Any]]:
    """The family that model_type names, and the config of the text part."""
    name = whole.get("model_type")
    if isinstance(name, str) and name in FAMILIES:
        return FAMILIES[name], whole
    for family in FAMILIES.values():
        if family.wrapper == name and isinstance(name, str):
            text = whole.get("text_config")
            if not isinstance(text, dict):
                raise ProblemsError(source.problem("text_config", "is missing", "give the config with its text part"))
            inner = text.get("model_type", family.model_type)
            if inner != family.model_type:
                what = f"is {_short(inner)}, but {name} holds a {family.model_type}"
                mend = f"set it to {family.model_type}, or leave it out"
                raise ProblemsError(source.problem("text_config.model_type", what, mend))
            return family, text
    known = [*FAMILIES, *(family.wrapper for family in FAMILIES.values() if family.wrapper)]
    what = "is missing" if name is None else f"is {_short(name)}, a family that the catalogue cannot map"
    mend = f"use a config of one of {', '.join(known)}"
    raise ProblemsError(source.problem("model_type", what, mend))


def _rope(inner: Mapping[str, Any], family: Family[Any]) -> JsonValue:
    """Rotary position embedding in one form: older configs spread it over three fields."""
    given = inner.get("rope_parameters")
    scaling = inner.get("rope_scaling")
    parts: dict[str, JsonValue] = {}
    for block in (scaling, given):
        if isinstance(block, dict):
            parts.update({name: value for name, value in block.items() if name not in _TEXT_ONLY_ROPE})
        elif block is not None:
            unread: JsonValue = block  # no mapping: the form's own check names it
            return unread
    older_type = parts.pop("type", None)
    if "rope_type" not in parts and older_type is not None:
        parts["rope_type"] = older_type
    if parts.get("rope_type") in (None, "mrope"):
        parts["rope_type"] = "default"
    for name in ("rope_theta", "partial_rotary_factor"):
        if name not in parts and inner.get(name) is not None:
            parts[name] = inner[name]
    if parts["rope_type"] == "default":
        parts.setdefault("partial_rotary_factor", family.partial_rotary_factor)
    return parts


def _fill(fields: dict[str, JsonValue], family: Family[Any]) -> None:
    """What transformers derives from other fields where a config is silent."""
    form = family.form.model_fields
    layers, interval = fields.get("num_hidden_layers"), fields.pop("full_attention_interval", None)
    heads, hidden = fields.get("num_attention_heads"), fields.get("hidden_size")
    if "layer_types" in form and fields.get("layer_types") is None and _positive(layers):
        every = interval if _positive(interval) else 4
        fields["layer_types"] = ["linear_attention" if (i + 1) % every else "full_attention" for i in range(layers)]
    if "mlp_only_layers" in form and fields.get("mlp_only_layers") is None:
        fields["mlp_only_layers"] = []
    if "num_key_value_heads" in family.derived and fields.get("num_key_value_heads") is None and heads is not None:
        fields["num_key_value_heads"] = heads
    if "head_dim" in family.derived and fields.get("head_dim") is None and _positive(heads) and _positive(hidden):
        fields["head_dim"] = hidden // heads


def _positive(value: object) -> TypeGuard[int]:
    return type(value) is int and 0 < value <= 10_000_000


def _fixed_problems(
    fields: Mapping[str, JsonValue], family: Family[Any], prefix: str, source: ConfigFile
) -> Iterator[Problem]:
    """Fields whose value Megatron's model of the family takes for granted."""
    for name, allowed in {**_NO_DROPOUT, **family.fixed}.items():
        if name not in fields or name in family.form.model_fields:
            continue
        value = fields[name]
        each = value if isinstance(value, list) and [] not in allowed else [value]
        if not all(item in allowed for item in each):
            want = " or ".join(json.dumps(item) for item in allowed if item is not None)
            what = f"is {_short(value)}, which cannot be mapped: {family.model_type} needs {want}"
            yield source.problem(prefix + name, what, f"a model with another {name} needs its own family")


def _unknown_problems(
    inner: Mapping[str, Any], family: Family[Any], prefix: str, source: ConfigFile
) -> Iterator[Problem]:
    known = {*family.form.model_fields, *family.fixed, *family.renamed, *family.ignored, *HOUSEKEEPING, *_MTP, *_ROPE}
    known |= {*_NO_DROPOUT, "full_attention_interval", "layer_types"}
    for name, value in inner.items():
        if name not in known:
            close = nearest(name, family.form.model_fields)
            mend = f"use {close}" if close else "take it out if it changes neither weights nor arithmetic"
            yield source.problem(prefix + name, f"is {_short(value)}, which cannot be mapped: no such field", mend)


def _wrapper_problems(whole: Mapping[str, Any], source: ConfigFile) -> Iterator[Problem]:
    for name, value in whole.items():
        if name not in WRAPPER_HOUSEKEEPING:
            mend = "take it out if it changes neither weights nor arithmetic"
            yield source.problem(name, f"is {_short(value)}, which cannot be mapped: no such field", mend)


def _not_counted(whole: Mapping[str, Any], inner: Mapping[str, Any]) -> Iterator[str]:
    if whole.get("vision_config") is not None:
        yield "vision encoder"
    for name in _MTP:
        count = inner.get(name)
        if isinstance(count, int) and count > 0:
            yield f"multi-token prediction ({name}: {count})"


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."
