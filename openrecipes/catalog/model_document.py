"""A model as plain data: what `model show --json` prints and its table is made of."""

from typing import TypedDict

from openrecipes.catalog.model_parts import ModelArgument
from openrecipes.catalog.models import Model
from openrecipes.catalog.tensors import Tensor

# `from` is a reserved word of Python, so this form is written as a call.
ArgumentOrigin = TypedDict("ArgumentOrigin", {"flag": str, "value": str | None, "from": str})


class TensorDocument(TypedDict):
    """One kind of weight; `each` is how many equal ones there are, over layers and experts."""

    name: str
    role: str
    shape: list[int]
    each: int
    params: int
    active_params: int
    why_not_active: str | None


class ModelDocument(TypedDict):
    """A model with everything derived from its config."""

    model: str
    params: int
    active_params: int
    model_args: list[str]
    origin: list[ArgumentOrigin]
    family: str
    source: str
    revision: str | None
    retrieved: str
    note: str | None
    not_counted: list[str]
    config: dict[str, object]
    tensors: list[TensorDocument]


def model_document(model: Model) -> ModelDocument:
    """The model's parameters and Megatron arguments, with the origin of every value."""
    arguments = model.architecture_arguments()
    return {
        "model": model.name,
        "params": model.params,
        "active_params": model.active_params,
        "model_args": [word for argument in arguments for word in argument.argv],
        "origin": [argument_origin(argument) for argument in arguments],
        "family": model.family.model_type,
        "source": model.entry.source,
        "revision": model.entry.revision,
        "retrieved": model.entry.retrieved.isoformat(),
        "note": model.entry.note,
        "not_counted": list(model.entry.not_counted),
        "config": dict(model.entry.config),
        "tensors": [_tensor_document(tensor) for tensor in model.tensors],
    }


def argument_origin(argument: ModelArgument) -> ArgumentOrigin:
    """One argument as render's origin list writes it: flag, value (null for a switch), from."""
    return {"flag": argument.flag, "value": " ".join(argument.values) or None, "from": argument.origin}


def _tensor_document(tensor: Tensor) -> TensorDocument:
    return {
        "name": tensor.name,
        "role": str(tensor.role),
        "shape": list(tensor.shape),
        "each": tensor.number,
        "params": tensor.count,
        "active_params": tensor.active_count,
        "why_not_active": tensor.why_not_active or None,
    }
