"""The kind of model that every block of a recipe is, and the checked types its fields share."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidatorFunctionWrapHandler, WrapValidator


class Block(BaseModel):
    """Frozen, strict, and closed: a key that is no field is an error. Every field has a description."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False, defer_build=True)


def _as_written(value: object, check: ValidatorFunctionWrapHandler) -> object:
    check(value)
    return value


# Numbers keep the form they were written in, so that `141` is not written back as `141.0`. Upper
# bounds keep arithmetic on untrusted files small; no real value comes near them.
Count = Annotated[int, Field(ge=1, le=2**53)]
CountFromZero = Annotated[int, Field(ge=0, le=2**53)]
Degree = Annotated[int, Field(ge=1, le=2**20)]
Positive = Annotated[float, Field(gt=0, le=1e18), WrapValidator(_as_written)]
FromZero = Annotated[float, Field(ge=0, le=1e18), WrapValidator(_as_written)]
Fraction = Annotated[float, Field(ge=0, le=1), WrapValidator(_as_written)]
Correlation = Annotated[float, Field(ge=-1, le=1), WrapValidator(_as_written)]
Text = Annotated[str, Field(min_length=1, max_length=20_000)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
