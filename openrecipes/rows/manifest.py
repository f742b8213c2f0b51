"""The manifest beside a file of rows: every setting, count and hash."""

import json
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from openrecipes.problems import Place, Problem, ProblemsError, UsageError

Count = Annotated[int, Field(ge=0, le=2**63)]
MANIFEST_MISSING: Final = "manifest-there"
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class SourceFile(_Part):
    """One file of conversations."""

    path: str = Field(description="Path below the source, or the file's name.")
    bytes: Count = Field(description="Its size. Unit: bytes.")
    sha256: Sha256 = Field(description="sha256 of its bytes.")


class SourceUsed(_Part):
    """Where the conversations came from."""

    name: str = Field(description="The source as named: a path, or a dataset id of the Hugging Face hub.")
    revision: str | None = Field(description="Git commit of the dataset on its hub; null for local files.")
    files: tuple[SourceFile, ...] = Field(description="Every file, in the order in which conversations are counted.")


class TokenizerUsed(_Part):
    """What made tokens of text."""

    name: str = Field(description="`qwen3.5-embedded`, or the path of a tokenizer.json.")
    sha256: Sha256 = Field(description="sha256 of the vocabulary file: tokenizer.json, or the embedded tiktoken file.")
    vocabulary_size: Count = Field(description="One more than the largest token id.")
    eos_token: str = Field(description="Token between conversations.")
    eos_id: Count = Field(description="Its id.")
    pad_id: Count | None = Field(description="Id that others pad with, looked for when rows are verified.")
    template: str = Field(description="Name of the chat template.")
    template_sha256: Sha256 | None = Field(
        description="sha256 of the chat template's text; null for ours, whose name says it."
    )


class Share(_Part):
    """What one part of a mixture gave."""

    conversations: Count = Field(description="Conversations used.")
    tokens: Count = Field(description="Their tokens, without EOS.")


class ConversationCounts(_Part):
    """What became of the conversations."""

    available: Count = Field(description="Conversations in the source.")
    read: Count = Field(description="Read, in the seeded order, until the last row was full.")
    used: Count = Field(description="Read and put into the stream of which the rows were cut.")
    skipped: dict[str, Count] = Field(description="Read and left out, by reason.")
    first_skipped: dict[str, str] = Field(description="Where the first of each reason stands in the source.")
    longest_tokens: Count = Field(description="Tokens of the longest conversation used.")
    duplicate_ids: Count = Field(description="Conversations used whose id another one had before; they are kept.")
    loss_switches_ignored: Count = Field(
        description="Messages with a key `loss`, which the rule qwen3_5 does not know."
    )
    shares: dict[str, Share] = Field(description="By the records' `source`, where they have one.")


class Manifest(_Part):
    """All that is known of a file of rows."""

    schema_version: Literal[1] = Field(description="Version of this form.")
    name: str = Field(description="Name of the rows.")
    source: SourceUsed = Field(description="The conversations.")
    tokenizer: TokenizerUsed = Field(description="Tokenizer and chat template.")
    loss_mask: Literal["qwen3_5"] = Field(description="Rule that says which tokens are supervised.")
    seed: Count = Field(description="Seed of the permutation of the conversations.")
    rows: Count = Field(description="Rows in the file.")
    row_tokens: Count = Field(description="Tokens in each row.")
    padding_tokens: Literal[0] = Field(description="Padding tokens in the file: there are none.")
    tokens: Count = Field(description="Tokens in the file: rows x row_tokens.")
    supervised_tokens: Count = Field(description="Tokens with mask 1, first positions as cut.")
    supervised_token_ratio: float = Field(ge=0, le=1, description="supervised_tokens / tokens.")
    rows_without_targets: Count = Field(description="Rows left out because nothing in them could be learnt.")
    conversations: ConversationCounts = Field(description="Conversations read, used and skipped.")
    rows_hash_form: str = Field(description="Form of rows_sha256, written down in data/README.md.")
    rows_sha256: Sha256 = Field(description="Hash of the rows' token ids and masks.")
    parquet_sha256: Sha256 = Field(description="sha256 of the parquet file; it depends on the pyarrow version.")
    parquet_bytes: Count = Field(description="Size of the parquet file. Unit: bytes.")
    versions: dict[str, str] = Field(description="Versions of what made the rows.")
    wall_time_s: float = Field(ge=0, description="Time the build took. Unit: seconds.")


def manifest_path(parquet: Path) -> Path:
    """`FILE.manifest.json` for FILE."""
    return parquet.with_name(parquet.name + ".manifest.json")


def manifest_text(manifest: Manifest) -> str:
    """The manifest as it lies beside the file."""
    return json.dumps(manifest.model_dump(mode="json"), indent=2, ensure_ascii=False) + "\n"


def read_manifest(parquet: Path) -> Manifest:
    """The manifest of a file of rows.

    Raises: UsageError if there is none; ProblemsError with every field that is wrong.
    """
    path = manifest_path(parquet)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        what, mend = (
            "there is no manifest beside the rows",
            "copy it along with the parquet file, or build the rows again",
        )
        raise UsageError(Problem(place=Place(file=str(path)), rule=MANIFEST_MISSING, what=what, mend=mend)) from error
    except (OSError, UnicodeDecodeError) as error:
        reason = "it is no UTF-8 text" if isinstance(error, UnicodeDecodeError) else error.strerror
        what, mend = f"cannot be read: {reason}", "copy it again, or build the rows again"
        raise UsageError(Problem(place=Place(file=str(path)), rule="manifest-form", what=what, mend=mend)) from error
    try:
        return Manifest.model_validate_json(text)
    except ValidationError as error:
        raise ProblemsError(*(_problem(path, item["loc"], item["msg"]) for item in error.errors())) from error


def _problem(path: Path, location: tuple[int | str, ...], message: str) -> Problem:
    key = ".".join(map(str, location))
    mend = "do not edit the manifest; build the rows again"
    what = message[0].lower() + message[1:]
    return Problem(place=Place(file=str(path), key=key), rule="manifest-form", what=what, mend=mend)
