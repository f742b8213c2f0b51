"""The reviewed table: how a difference in each flag, attribute and environment variable is judged.

argument_classes().of_flag("--lr")              -> Listing, or None where the table has no line: unknown
argument_classes().of_environment("NCCL_ALGO")  -> Listing, or None
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from openrecipes.catalog.data_files import parse_yaml, validate

TABLE: Final = Path(__file__).resolve().parent / "argument_classes.yaml"
Class = Literal["neutral", "tolerated", "workload", "forbidden"]
RuleName = Literal[
    "batch",
    "sequence-parallel",
    "experts",
    "layers",
    "context-parallel",
    "packing",
    "schedule",
    "permute-fusion",
    "vocabulary",
    "aux-loss",
    "precision-aware",
]


class Listing(BaseModel):
    """One line of the table."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, populate_by_name=True)

    listed: Class = Field(alias="class", description="How a difference is judged.")
    why: str = Field(min_length=1, description="The reason, for people.")
    component: str | None = Field(default=None, description="Component test that a tolerated difference asks for.")
    rules: tuple[RuleName, ...] = Field(default=(), description="Relations in which the argument stands.")
    only: Literal["added"] | None = Field(default=None, description="`added`: may be set and not unset.")
    negative: bool = Field(default=False, description="Whether a negative value means none.")
    place: Literal["rows", "model", "weights"] | None = Field(
        default=None, description="What lies at this path of the site, which is compared in the path's place."
    )


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    name: str
    flags: dict[str, dict[str, Listing]]
    attributes: dict[str, Listing]
    environment: dict[str, Listing]


@dataclass(frozen=True, kw_only=True, slots=True)
class ArgumentClasses:
    """The table. `sections` are its parts in order, each flag by its first spelling."""

    name: str
    sections: Mapping[str, Mapping[str, Listing]]
    attributes: Mapping[str, Listing]
    environment: Mapping[str, Listing]
    flags: Mapping[str, Listing]

    def of_flag(self, flag: str) -> Listing | None:
        """The line of a flag by its first spelling."""
        return self.flags.get(flag)

    def of_attribute(self, name: str) -> Listing | None:
        """The line of an attribute that no flag sets."""
        return self.attributes.get(name)

    def of_environment(self, name: str) -> Listing | None:
        """The first line whose name, or beginning before a star, fits the variable."""
        for pattern, listing in self.environment.items():
            if name == pattern or (pattern.endswith("*") and name.startswith(pattern[:-1])):
                return listing
        return None


@lru_cache(maxsize=1)
def argument_classes() -> ArgumentClasses:
    """The table of this version; a mistake in it is a bug, so errors pass through."""
    table = validate(parse_yaml(TABLE.read_text(encoding="utf-8")), _Table)
    return ArgumentClasses(
        name=table.name,
        sections=table.flags,
        attributes=table.attributes,
        environment=table.environment,
        flags={flag: listing for section in table.flags.values() for flag, listing in section.items()},
    )
