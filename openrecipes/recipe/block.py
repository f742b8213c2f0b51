"""The kind of model that every block of a recipe is, and the checked types its fields share."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, GetPydanticSchema, ValidatorFunctionWrapHandler
from pydantic_core import core_schema


class Block(BaseModel):
    """Frozen, strict, and closed: a key that is no field is an error. Every field has a description."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False, defer_build=True)


def _as_written(value: object, check: ValidatorFunctionWrapHandler) -> object:
    check(value)
    return value


def _of(schema: Any) -> GetPydanticSchema:
    """The schema as it stands: pydantic would put it together anew for each of a hundred and fifty fields."""
    return GetPydanticSchema(lambda _source, _handler: {**schema})


def _whole(least: int, most: int) -> GetPydanticSchema:
    return _of(core_schema.int_schema(strict=True, ge=least, le=most))


def _number(*, le: float, ge: float | None = None, gt: float | None = None) -> GetPydanticSchema:
    schema = core_schema.float_schema(strict=True, allow_inf_nan=False, le=le, ge=ge, gt=gt)
    return _of(core_schema.no_info_wrap_validator_function(_as_written, schema))


# Numbers keep the form they were written in, so that `141` is not written back as `141.0`. Upper
# bounds keep arithmetic on untrusted files small; no real value comes near them.
Count = Annotated[int, _whole(1, 2**53)]
CountFromZero = Annotated[int, _whole(0, 2**53)]
Degree = Annotated[int, _whole(1, 2**20)]
Positive = Annotated[float, _number(gt=0, le=1e18)]
FromZero = Annotated[float, _number(ge=0, le=1e18)]
Fraction = Annotated[float, _number(ge=0, le=1)]
Correlation = Annotated[float, _number(ge=-1, le=1)]
Text = Annotated[str, _of(core_schema.str_schema(strict=True, min_length=1, max_length=20_000))]
Sha256 = Annotated[str, _of(core_schema.str_schema(strict=True, pattern=r"^[0-9a-f]{64}$"))]
