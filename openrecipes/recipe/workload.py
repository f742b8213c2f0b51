"""What is trained on: fixed-length rows, the batch, and how the rows were built."""

from typing import Literal

from pydantic import Field

from openrecipes.recipe.block import Block, Count, CountFromZero, Fraction, Sha256, Text


class RowsBuild(Block):
    """How the fixed rows were made from the dataset, and what came out."""

    name: Text = Field(description="Name of these rows; other tokenizer, template or rule, other name.")
    tokenizer: Text = Field(description="Tokenizer, with the sha256 of its file where it is one file.")
    loss_mask: Literal["qwen", "qwen3", "qwen3_5", "distill_qwen"] = Field(
        description="Rule that says which tokens are supervised, by slime's name (--loss-mask-type)."
    )
    rows: Count = Field(description="Rows in the file. Unit: rows.")
    row_tokens: Count = Field(description="Tokens in each row, padding included. Unit: tokens.")
    padding_tokens: CountFromZero = Field(description="Padding tokens in the whole file. Unit: tokens.")
    seed: CountFromZero = Field(description="Seed of the global permutation of the conversations.")
    packing: Text = Field(description="Packing rule in words: order, separator, cut, what is skipped.")
    supervised_token_ratio: Fraction | None = Field(
        description="Supervised tokens divided by all tokens of the file; null if not known. A fraction."
    )
    parquet_sha256: Sha256 | None = Field(description="sha256 of the parquet file's bytes; null if not known.")
    parquet_bytes: Count | None = Field(description="Size of the parquet file; null if not known. Unit: bytes.")
    builder: Text = Field(description="Program that builds the rows, and its documentation.")


class Dataset(Block):
    """Where the conversations come from."""

    name: Text = Field(description="The dataset's name for people.")
    source: Text = Field(description="Hugging Face dataset id, or a path of a file shipped with the project.")
    revision: Text | None = Field(description="Git revision of the dataset on its hub; null for a local file.")
    license: Text = Field(description="Licence of the conversations.")
    rows_sha256: Sha256 | None = Field(
        description="Hash of the rows' token ids and loss masks (form: data/README.md); null if not known."
    )
    build: RowsBuild = Field(description="How the fixed rows were built.")


class Workload(Block):
    """The work that a step does, equal for every recipe on one board."""

    row_tokens: Count = Field(description="Tokens in a row. Unit: tokens.")
    rows: Text = Field(description="What a row is, in words.")
    global_batch: Count = Field(description="Rows an optimizer step takes, over all GPUs. Unit: rows.")
    precision: Literal["bf16", "fp16", "fp8", "fp32"] = Field(
        description="Precision of forward and backward matrix products."
    )
    dataset: Dataset = Field(description="The conversations and the rows built from them.")
