"""Parameters of every family, held against transformers' own count on the meta device."""

import json
from math import prod
from typing import Any

import pytest
from model_configs import EVERY_FAMILY, VARIANTS, changed

from openrecipes.catalog.config_reading import read_config
from openrecipes.catalog.families.registry import FAMILIES
from openrecipes.catalog.models import Model, all_models, hf_config, model_from

pytestmark = pytest.mark.tool("module:torch", "module:transformers")


def from_config(document: dict[str, Any]) -> Model:
    read = read_config(json.dumps(document), "config.json")
    return model_from(
        {
            "name": "test",
            "source": "test",
            "revision": None,
            "retrieved": "2026-11-30",
            "not_counted": list(read.not_counted),
            "model_type": read.family.model_type,
            "config": dict(read.fields),
        }
    )


def tensors_of(document: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    """Shape of every parameter of transformers' class; tied ones once. No memory is allocated."""
    import torch
    import transformers

    config = transformers.AutoConfig.for_model(**document)
    with torch.device("meta"):
        built = getattr(transformers, document["architectures"][0])(config)
    return {name: tuple(parameter.shape) for name, parameter in built.named_parameters()}


def expected_of(model: Model) -> dict[str, tuple[int, ...]]:
    """The same from the catalogue: a layer's experts are one tensor there."""
    expected: dict[str, tuple[int, ...]] = {}
    for tensor in model.tensors:
        name = tensor.name.replace("experts.*.", "experts.")
        shape = (tensor.copies, *tensor.shape) if "experts.*." in tensor.name else tensor.shape
        for layer in tensor.layers or (0,):
            expected[name.replace("layers.*.", f"layers.{layer}.")] = shape
    return expected


CASES = [(family, {}) for family in EVERY_FAMILY] + VARIANTS


@pytest.mark.parametrize(("family", "changes"), CASES)
def test_every_tensor_is_the_one_that_transformers_builds(family: str, changes: dict[str, Any]) -> None:
    document = changed(family, **changes)
    model = from_config(document)
    # Built from the user's own config, so that reading it is tested too.
    inner = {**document.get("text_config", document), "architectures": [model.family.causal_lm]}
    inner.setdefault("tie_word_embeddings", document.get("tie_word_embeddings", False))
    built = tensors_of({**inner, "model_type": model.family.model_type})
    assert expected_of(model) == built
    assert model.params == sum(prod(shape) for shape in built.values())


def test_every_catalogue_entry_has_as_many_parameters_as_transformers_builds() -> None:
    checked = 0
    for model in all_models():
        built = tensors_of(hf_config(model))
        assert expected_of(model) == built, model.name
        assert model.params == sum(prod(shape) for shape in built.values())
        checked += 1
    assert checked >= 7


def test_every_family_is_counted() -> None:
    assert {from_config(document).family.model_type for document in EVERY_FAMILY.values()} == set(FAMILIES)
