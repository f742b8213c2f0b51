"""What a launch must know about the place it runs on, apart from the recipe."""

from typing import Final

from pydantic import Field

from openrecipes.recipe.block import Block, Count, Text

# What of the submitter's environment reaches a job: who and where it is, and the GPUs that it was given.
# Everything else stays outside, so that two people's runs of one recipe are the same run.
KEPT: Final = (
    "PATH",
    "HOME",
    "USER",
    "LANG",
    "LC_ALL",
    "TZ",
    "TMPDIR",
    "VIRTUAL_ENV",
    "CUDA_VISIBLE_DEVICES",
    "XDG_CACHE_HOME",
)


class Paths(Block):
    """Where things lie on the target."""

    hf_checkpoint: Text | None = Field(default=None, description="Hugging Face checkpoint: config and tokenizer.")
    torch_dist: Text | None = Field(default=None, description="Megatron torch_dist checkpoint that --ref-load reads.")
    sft_data: Text | None = Field(default=None, description="SFT rows; null where a run builds or is given them.")
    slime: Text | None = Field(default=None, description="slime checkout; its train_async.py is the entry.")
    megatron: Text | None = Field(default=None, description="Megatron-LM checkout with slime's patch.")


class Profile(Block):
    """One place to run."""

    name: Text | None = Field(default=None, description="Name of the place; null for this machine.")
    python: Text = Field(default="python3", description="Interpreter of the job: a name on PATH, or a path.")
    keep_environment: tuple[Text, ...] = Field(
        default=(), description="Variables of the submitter's environment that the job keeps, beside the usual few."
    )
    paths: Paths = Field(default=Paths(), description="Where things lie.")
    join_seconds: Count = Field(default=300, description="Longest wait until every GPU has joined Ray. Unit: seconds.")

    @property
    def kept_variables(self) -> tuple[str, ...]:
        """Names of the variables that reach the job."""
        return tuple(dict.fromkeys((*KEPT, *self.keep_environment)))


THIS_MACHINE: Final = Profile()
