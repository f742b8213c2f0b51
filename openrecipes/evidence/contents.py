"""`bundle.json`: what a bundle holds, and the names of its members."""

from typing import Final, Literal

from pydantic import Field

from openrecipes.recipe.block import Block, Count, CountFromZero, Sha256, Text

CONTENTS: Final = "bundle.json"
RECIPE: Final = "recipe.yaml"
ROWS_MANIFEST: Final = "rows.manifest.json"
MAX_CONTENTS_BYTES: Final = 4 * 2**20


class BundledFile(Block):
    """One member. The two hashes differ exactly where something private was replaced."""

    path: Text = Field(description="Name in the bundle.")
    sha256: Sha256 = Field(description="sha256 of its bytes here.")
    size_bytes: CountFromZero = Field(description="Its size here. Unit: bytes.")
    original_sha256: Sha256 = Field(description="sha256 of the bytes that the run left.")

    @property
    def is_redacted(self) -> bool:
        """Whether its bytes are not the run's own."""
        return self.sha256 != self.original_sha256


class Contents(Block):
    """Everything that a bundle holds beside this file."""

    schema_version: Literal[1] = Field(description="Version of this form.")
    harness_version: Text = Field(description="Version of openrecipes that packed it.")
    runs: Count = Field(description="Runs behind the result: folders run-1, run-2, …")
    redacted: bool = Field(description="Whether private values were replaced.")
    files: tuple[BundledFile, ...] = Field(description="Every other member, by name.")

    def find(self, path: str) -> BundledFile | None:
        """The member of this name."""
        return next((file for file in self.files if file.path == path), None)


def run_folder(number: int) -> str:
    """Folder of a run, counted from 1."""
    return f"run-{number}"
