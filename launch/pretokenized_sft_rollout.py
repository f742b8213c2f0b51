"""slime's rollout function for rows that are tokenized and packed already.

    --rollout-function-path pretokenized_sft_rollout.generate_rollout --input-key messages --metadata-key metadata

The folder of this file must be on PYTHONPATH of every node: slime imports it wherever Ray puts the RolloutManager.
A row's tokens and loss mask lie in its metadata as bytes: slime copies every row it hands out, which takes about a
millisecond a batch for bytes and seconds for lists. No tokenizer is used. Batch N is the rows from N x rollout
batch on, in file order, so a resumed run takes what the whole run would have taken. What slime passes over in
silence (rows that run out and start again, a row longer than a GPU takes, a row without targets) is an error here.

Written against THUDM/slime a897e1f4: slime.rollout.base_types, slime.rollout.data_source.RolloutDataSource.
"""

import hashlib
import logging
import sys
from array import array
from typing import Any

from slime.rollout.base_types import RolloutFnTrainOutput

# Token ids as little-endian int32, and a byte a token that is 1 where the token is a prediction target.
TOKENS, MASK = "tokens", "loss_mask"

logger = logging.getLogger(__name__)


def generate_rollout(args: Any, rollout_id: int, data_source: Any, evaluation: bool = False) -> Any:  # noqa: FBT001, FBT002
    """The rows of batch `rollout_id` as slime's samples, each in a group of its own.

    Raises: ValueError naming the row, or the setting, that cannot be trained on.
    """
    if evaluation:
        raise ValueError("packed rows are not for evaluation: leave --eval-interval and --eval-prompt-data out")
    check_settings(args, rollout_id, data_source)
    first = rollout_id * args.rollout_batch_size
    go_to_row(data_source, first)
    groups = data_source.get_samples(args.rollout_batch_size)
    row_tokens = len(stored(data_source.dataset.samples[0], "row 0")[1])
    digest = hashlib.sha256()
    for index, (sample,) in enumerate(groups, start=first):
        where = f"row {index} of {args.prompt_data}"
        tokens, mask = stored(sample, where)
        check_row(args, tokens, mask, row_tokens=row_tokens, where=where)
        fill(sample, tokens, mask)
        check_vocabulary(args, sample.tokens, where)
        digest.update(tokens + mask)
    span = f"rows {first} to {first + len(groups) - 1}, {row_tokens} tokens each"
    logger.info("batch %d: %s, sha256 %s", rollout_id, span, digest.hexdigest())
    return RolloutFnTrainOutput(samples=groups)


def check_settings(args: Any, rollout_id: int, data_source: Any) -> None:
    """Nothing, if every batch of the run can be fed: the rows of all are counted at the first."""
    if getattr(data_source, "dataset", None) is None or not hasattr(data_source, "sample_offset"):
        raise ValueError("no rows: --prompt-data must name them, and slime's own data source must read them")
    if args.rollout_shuffle:
        raise ValueError("--rollout-shuffle is on, but rows are taken in file order: leave it out")
    if args.n_samples_per_prompt != 1:
        raise ValueError(f"--n-samples-per-prompt is {args.n_samples_per_prompt}, but a row is taken once: set 1")
    batch, step, held = args.rollout_batch_size, args.global_batch_size, len(data_source.dataset.samples)
    if batch % step:
        raise ValueError(f"--rollout-batch-size {batch} is no multiple of --global-batch-size {step}, so slime "
                         f"would drop {batch % step} rows of every batch")  # fmt: skip
    batches = max(rollout_id + 1, args.num_rollout or 0)
    if batches * batch > held:
        raise ValueError(f"rows run out: {batches} batches of {batch} rows take {batches * batch}, but "
                         f"{args.prompt_data} holds {held}, and slime would start again at its first")  # fmt: skip


def go_to_row(data_source: Any, row: int) -> None:
    """Puts slime's reading position at a row; a run that resumes without its saved position stands at row 0."""
    if (data_source.sample_offset, data_source.epoch_id) != (row, 0):
        logger.info("reading position moved from row %d to row %d", data_source.sample_offset, row)
        data_source.sample_offset, data_source.epoch_id = row, 0
        data_source.sample_index = data_source.sample_group_index = row


def stored(sample: Any, where: str) -> tuple[bytes, bytes]:
    """The tokens and the mask of a row, as the file holds them."""
    metadata = sample.metadata if isinstance(sample.metadata, dict) else {}
    tokens, mask = metadata.get(TOKENS), metadata.get(MASK)
    if not isinstance(tokens, bytes) or not isinstance(mask, bytes):
        raise ValueError(f"{where}: its metadata must hold {TOKENS} and {MASK} as bytes, and holds {sorted(metadata)}")
    return tokens, mask


def check_row(args: Any, tokens: bytes, mask: bytes, *, row_tokens: int, where: str) -> None:
    """Nothing, if the row is as long as all must be, fits a microbatch, and has something to predict."""
    if len(tokens) != 4 * len(mask):
        raise ValueError(f"{where}: {len(tokens)} bytes of tokens (4 each) for {len(mask)} bytes of mask (1 each)")
    if len(mask) != row_tokens:
        raise ValueError(f"{where}: {len(mask)} tokens, where row 0 holds {row_tokens} and all must hold the same")
    if args.use_dynamic_batch_size and row_tokens > args.max_tokens_per_gpu * args.context_parallel_size:
        raise ValueError(f"{where}: {row_tokens} tokens, more than --max-tokens-per-gpu {args.max_tokens_per_gpu} "
                         f"x --context-parallel-size {args.context_parallel_size}")  # fmt: skip
    if mask.count(0) + mask.count(1) != len(mask):
        raise ValueError(f"{where}: its mask holds {max(mask)}, where only 0 and 1 can be")
    if mask.find(1, 1) < 0:
        raise ValueError(f"{where}: no supervised token after its first one, so it has no loss")


def check_vocabulary(args: Any, ids: list[int], where: str) -> None:
    """Nothing, if the model knows every token; a GPU would only report a failed assertion in a kernel."""
    known = getattr(args, "vocab_size", None)
    if min(ids) < 0 or (known and max(ids) >= known):
        raise ValueError(f"{where}: token ids {min(ids)} to {max(ids)}, where --vocab-size is {known}")


def fill(sample: Any, tokens: bytes, mask: bytes) -> None:
    """Gives the sample what slime trains on: all tokens, and the mask of the tail that begins at the first target.

    The first position is never a target: nothing comes before it, and slime slices a response as long as its row
    to nothing.
    """
    ids = array("i", tokens)
    if sys.byteorder == "big":
        ids.byteswap()
    tail = mask[mask.find(1, 1) :]
    sample.tokens, sample.loss_mask, sample.response_length = ids.tolist(), list(tail), len(tail)
    sample.reward, sample.metadata = 0, {}
