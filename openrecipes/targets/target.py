"""What a launch is made of, and what a place to run must be able to do."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from openrecipes.catalog.models import Model
from openrecipes.problems import Problem
from openrecipes.recipe.model import Recipe
from openrecipes.render.argument import EnvironmentValue
from openrecipes.render.command import Command
from openrecipes.targets.profile import Profile


@dataclass(frozen=True, kw_only=True, slots=True)
class Launch:
    """Everything that the launched files depend on, and nothing else: equal launches render to equal bytes.

    `recipe` has the overrides in it, and `command` is made from it. `sft_data` is the rows' path on the target;
    None means data/rows.parquet in the run directory.
    """

    recipe: Recipe
    model: Model
    command: Command
    profile: Profile
    sft_data: str | None = None
    allow_shell_env: bool = False

    @property
    def shell_values(self) -> tuple[EnvironmentValue, ...]:
        """The environment values that a shell must evaluate."""
        return tuple(value for value in self.command.environment if value.kind == "shell")


@dataclass(frozen=True, kw_only=True, slots=True)
class RenderedFile:
    """One file of a launch: its path below the folder of rendered files, and its whole text."""

    path: str
    text: str
    executable: bool = False

    @property
    def content(self) -> bytes:
        """The bytes on disk."""
        return self.text.encode()

    @property
    def sha256(self) -> str:
        """sha256 of the bytes on disk."""
        return hashlib.sha256(self.content).hexdigest()


@dataclass(frozen=True, kw_only=True, slots=True)
class Rendered:
    """Every file of a launch; `entry` is the path of the one that is submitted."""

    files: tuple[RenderedFile, ...]
    entry: str

    @property
    def render_sha256(self) -> str:
        """One hash over all files: sha256 of their `sha256  path` lines, sorted."""
        lines = sorted(f"{file.sha256}  {file.path}\n" for file in self.files)
        return hashlib.sha256("".join(lines).encode()).hexdigest()


class Target(Protocol):
    """A kind of place to run. Starting and following are submit.py's and follow.py's."""

    @property
    def name(self) -> str:
        """The name that --target and profiles use."""

    def refusals(self, launch: Launch) -> Iterator[Problem]:
        """Why this launch cannot be rendered for such a place; looks at no machine."""

    def render(self, launch: Launch) -> Rendered:
        """Every file of the launch. Pure: no clock, no machine, no random number."""
