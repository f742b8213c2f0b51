"""Trainer of the embedded default: SFT of a small Qwen3.5-MoE, data parallel, with log lines in slime's form.

    torchrun --standalone --nproc-per-node 2 smoke_sft.py --hf-checkpoint DIR --prompt-data ROWS.parquet ...

Flags carry slime's and Megatron's names and meanings. The weights are random, drawn from `--seed`; the model's
shape is DIR/config.json. It runs alone: torch, transformers, pyarrow and the standard library, nothing else.
"""

import argparse
import hashlib
import logging
import math
import os
import platform
import signal
import socket
import statistics
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # the shape lies in a folder: nothing is ever fetched

import numpy as np
import pyarrow
import pyarrow.parquet
import torch
import torch.distributed as dist
import transformers

RANK = int(os.environ.get("RANK", "0"))
LOCAL_RANK = int(os.environ.get("LOCAL_RANK", "0"))
RANKS = int(os.environ.get("WORLD_SIZE", "1"))
# In a row's metadata: token ids as little-endian int32, and a byte a token that is 1 where it is a target.
TOKENS, MASK = "tokens", "loss_mask"
# Logits held at a time (64 MiB): 67 tokens of a vocabulary of 248,320, the fastest of 8 to 128 on one core.
LOGITS_AT_A_TIME = 2**24

logger = logging.getLogger("smoke_sft")


def fail(message: str) -> NoReturn:
    """Ends this rank with one line and status 1.

    Every rank meets the same trouble: rank 0 speaks, and its end makes torchrun end the others. A rank that is
    still there after that has a trouble of its own, and says so itself.
    """
    if RANK:
        time.sleep(5)
    print(f"smoke_sft.py: error: {' '.join(message.split())}", file=sys.stderr, flush=True)
    os._exit(1)  # waits for no peer inside a collective


def parse(argv: list[str] | None = None) -> argparse.Namespace:
    """The flags, checked against each other and against the number of ranks."""
    parser = argparse.ArgumentParser(prog="smoke_sft.py", description=__doc__.split("\n")[0], allow_abbrev=False)
    parser.error = fail  # type: ignore[method-assign]  # one line, where argparse adds the usage of every rank
    add = parser.add_argument
    add("--hf-checkpoint", type=Path, required=True, help="folder with config.json, the model's shape")
    add("--prompt-data", type=Path, required=True, help="rows, as `openrecipes data build` writes them")
    add("--input-key", default="messages", help="column that slime takes as the prompt; must exist")
    add("--metadata-key", default="metadata", help=f"column that holds {TOKENS} and {MASK}")
    add("--num-rollout", type=int, required=True, help="batches taken from the rows")
    add("--rollout-batch-size", type=int, required=True, help="rows a batch")
    add("--global-batch-size", type=int, required=True, help="rows an optimizer step, over all ranks")
    add("--micro-batch-size", type=int, default=1, help="rows a forward pass, on one rank")
    add("--seq-length", type=int, help="tokens every row must hold (default: as many as the first)")
    add("--lr", type=float, default=1e-6, help="highest learning rate")
    add("--min-lr", type=float, default=0.0, help="learning rate at the end")
    add("--lr-decay-style", choices=("constant", "linear", "cosine"), default="linear")
    add("--lr-warmup-fraction", type=float, default=0.0, help="part of the run in which it climbs from 0")
    add("--weight-decay", type=float, default=0.01, help="on weights of two or more dimensions")
    add("--adam-beta1", type=float, default=0.9)
    add("--adam-beta2", type=float, default=0.999)
    add("--clip-grad", type=float, default=1.0, help="highest global gradient norm, 0 for none")
    add("--loss-type", choices=("sft_loss",), default="sft_loss")
    add("--calculate-per-token-loss", action="store_true", help="mean over targets, not over rows' means")
    add("--seed", type=int, default=1234, help="of the weights")
    add("--device", choices=("cpu", "cuda"), default="cpu", help="cpu over gloo, or cuda over NCCL")
    args = parser.parse_args(argv)
    for name in ("num_rollout", "rollout_batch_size", "global_batch_size", "micro_batch_size"):
        if getattr(args, name) < 1:
            fail(f"--{name.replace('_', '-')} {getattr(args, name)}: must be at least 1")
    if args.global_batch_size % RANKS:
        fail(f"--global-batch-size {args.global_batch_size} is no multiple of the {RANKS} ranks")
    if args.rollout_batch_size % args.global_batch_size:
        fail(f"--rollout-batch-size {args.rollout_batch_size} is no multiple of the global batch")
    if not 0 <= args.lr_warmup_fraction < 1:
        fail(f"--lr-warmup-fraction {args.lr_warmup_fraction}: must be at least 0 and below 1")
    return args


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One packed row: `tokens` int64 and `targets` bool of shape (row tokens,), `stored` the bytes they came from."""

    tokens: torch.Tensor
    targets: torch.Tensor
    stored: bytes

    @property
    def supervised(self) -> int:
        """Number of tokens that are prediction targets."""
        return int(self.targets.sum())


def row_from_bytes(tokens: bytes, mask: bytes, *, where: str, row_tokens: int | None, vocab_size: int) -> Row:
    """The row, its first position never a target: nothing comes before it to predict it from."""
    if len(tokens) != 4 * len(mask):
        fail(f"{where}: {len(tokens)} bytes of tokens (4 each) for {len(mask)} bytes of mask (1 each)")
    if len(mask) != (row_tokens or len(mask)) or len(mask) < 2:
        fail(f"{where}: {len(mask)} tokens, where every row must hold {row_tokens or 'at least 2'}")
    ids, targets = np.frombuffer(tokens, "<i4"), np.frombuffer(mask, np.uint8)
    if targets.max() > 1:
        fail(f"{where}: its mask holds {targets.max()}, where only 0 and 1 can be")
    if not targets[1:].any():
        fail(f"{where}: no supervised token, so it has no loss")
    if ids.min() < 0 or ids.max() >= vocab_size:
        fail(f"{where}: token ids {ids.min()} to {ids.max()}, where the model knows 0 to {vocab_size - 1}")
    supervised = torch.from_numpy(targets.astype(bool))
    supervised[0] = False
    return Row(tokens=torch.from_numpy(ids.astype(np.int64)), targets=supervised, stored=tokens + mask)


def open_rows(args: argparse.Namespace) -> Any:
    """The parquet file of the rows, found to have the columns and the number of rows that the run needs."""
    path = args.prompt_data
    if not path.is_file():
        fail(f"--prompt-data {path}: no such file")
    try:
        parquet = pyarrow.parquet.ParquetFile(path)
    except (OSError, pyarrow.ArrowInvalid) as problem:
        fail(f"--prompt-data {path}: {problem}")
    schema, held = parquet.schema_arrow, parquet.metadata.num_rows
    for key in (args.input_key, args.metadata_key):
        if key not in schema.names:
            fail(f"{path} has no column {key}, its columns are {', '.join(schema.names)}")
    kind = schema.field(args.metadata_key).type
    if not pyarrow.types.is_struct(kind) or not {TOKENS, MASK} <= {field.name for field in kind}:
        fail(f"{path}: column {args.metadata_key} must hold {TOKENS} and {MASK}, and is {kind}")
    if held < args.num_rollout * args.rollout_batch_size:
        fail(f"{path} runs out: it holds {held} rows, for {args.num_rollout} batches of {args.rollout_batch_size}")
    return parquet


def rows(args: argparse.Namespace, parquet: Any, vocab_size: int) -> Iterator[Row]:
    """The rows of the file in its order, read as they are asked for."""
    row_tokens, index = args.seq_length, 0
    for batch in parquet.iter_batches(args.rollout_batch_size, columns=[args.metadata_key]):
        for stored in batch.column(0).to_pylist():
            where = f"{args.prompt_data} row {index}"
            pair = [(stored or {}).get(key) for key in (TOKENS, MASK)]
            if not all(isinstance(part, bytes) for part in pair):
                fail(f"{where}: {TOKENS} and {MASK} must both be there, as bytes")
            row = row_from_bytes(*pair, where=where, row_tokens=row_tokens, vocab_size=vocab_size)
            row_tokens, index = len(row.tokens), index + 1
            yield row


def fingerprint(batch: list[Row]) -> str:
    """The sha256 of the rows as stored: tokens then mask, row after row."""
    return hashlib.sha256(b"".join(row.stored for row in batch)).hexdigest()


def learning_rate(args: argparse.Namespace, samples: int) -> float:
    """The rate of the update that follows `samples` rows: 0 for the first one where there is a warm-up.

    Source: get_lr in Megatron-LM's megatron/core/optimizer_param_scheduler.py, counted in rows as there.
    """
    decay = args.num_rollout * args.rollout_batch_size
    warmup = args.lr_warmup_fraction * decay
    if warmup > 0 and samples <= warmup:
        return float(args.lr * samples / warmup)
    if args.lr_decay_style == "constant":
        return float(args.lr)
    done = min(1.0, (samples - warmup) / (decay - warmup))
    left = 1 - done if args.lr_decay_style == "linear" else 0.5 * (math.cos(math.pi * done) + 1)
    return float(args.min_lr + left * (args.lr - args.min_lr))


def target_weights(batch: list[Row], *, per_token: bool) -> list[float]:
    """What one target of each row counts for in the loss; over the whole global batch they add up to 1."""
    if per_token:
        return [1 / sum(row.supervised for row in batch)] * len(batch)
    return [1 / (row.supervised * len(batch)) for row in batch]


class ChunkedCrossEntropy(torch.autograd.Function):
    """Weighted sum of the targets' negative log likelihoods, without ever holding all logits.

    hidden (n, width), head (vocabulary, width), targets (n,), weights (n,). The gradients are taken on the way
    forward, in the logits' own memory, so nothing is computed twice.
    """

    @staticmethod
    def forward(ctx: Any, hidden: Any, head: Any, targets: Any, weights: Any) -> torch.Tensor:
        chunk = max(1, LOGITS_AT_A_TIME // len(head))
        memory = hidden.new_empty(min(chunk, len(hidden)), len(head))
        hidden_grad, head_grad, loss = torch.empty_like(hidden), torch.zeros_like(head), hidden.new_zeros(())
        for start in range(0, len(hidden), chunk):
            part = slice(start, start + chunk)
            index, weight = targets[part, None], weights[part, None]
            logits = torch.mm(hidden[part], head.T, out=memory[: len(index)])
            peak = logits.amax(-1, keepdim=True)
            of_target = logits.gather(1, index) - peak
            total = logits.sub_(peak).exp_().sum(-1, keepdim=True)
            loss += ((total.log() - of_target) * weight).sum()
            gradient = logits.mul_(weight / total).scatter_add_(1, index, -weight)
            torch.mm(gradient, head, out=hidden_grad[part])
            head_grad.addmm_(gradient.T, hidden[part])
        ctx.save_for_backward(hidden_grad, head_grad)
        return loss

    @staticmethod
    def backward(ctx: Any, *upstream: Any) -> Any:
        hidden_grad, head_grad = ctx.saved_tensors
        return hidden_grad * upstream[0], head_grad * upstream[0], None, None


class Trainer:
    """The model, its gradients in one buffer, and AdamW; `step` is one optimizer step over all ranks."""

    def __init__(self, args: argparse.Namespace, config: Any, device: torch.device) -> None:
        self.args, self.device, self.samples = args, device, 0
        torch.manual_seed(args.seed)  # the same on every rank, so the same weights
        model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32)
        self.model = model.to(device).train()
        weights = list(self.model.parameters())
        self.gradients = torch.zeros(sum(weight.numel() for weight in weights), device=device)
        for weight, piece in zip(weights, self.gradients.split([w.numel() for w in weights]), strict=True):
            weight.grad = piece.view_as(weight)  # backward adds in place: one buffer to reduce, clip and clear
        matrices = {"params": [w for w in weights if w.ndim > 1], "weight_decay": args.weight_decay}
        vectors = {"params": [w for w in weights if w.ndim <= 1], "weight_decay": 0.0}
        betas = (args.adam_beta1, args.adam_beta2)
        self.optimizer = torch.optim.AdamW([matrices, vectors], betas=betas, eps=1e-8, fused=True)

    def loss(self, batch: list[Row]) -> float:
        """The mean loss of the global batch; its gradient lies in the buffer, summed over the ranks."""
        weights = target_weights(batch, per_token=self.args.calculate_per_token_loss)
        mine = list(zip(batch, weights, strict=True))[RANK::RANKS]  # as slime deals microbatches out
        total = torch.zeros((), device=self.device)
        head = self.model.get_output_embeddings().weight
        self.gradients.zero_()
        for start in range(0, len(mine), self.args.micro_batch_size):
            part = mine[start : start + self.args.micro_batch_size]
            tokens = torch.stack([row.tokens for row, _ in part]).to(self.device)
            targets = torch.stack([row.targets for row, _ in part]).to(self.device)[:, 1:]
            weight = torch.tensor([[weight] for _, weight in part], device=self.device).expand_as(targets)[targets]
            hidden = self.model.base_model(input_ids=tokens, use_cache=False).last_hidden_state
            loss = ChunkedCrossEntropy.apply(hidden[:, :-1][targets], head, tokens[:, 1:][targets], weight)
            loss.backward()
            total += loss.detach()
        try:
            for summed in (self.gradients, total) if RANKS > 1 else ():
                dist.all_reduce(summed)
        except RuntimeError as problem:
            fail(f"another rank is gone: {problem}")
        return total.item()

    def step(self, batch: list[Row]) -> dict[str, float]:
        """The `step` record of one optimizer step; the rate in it is that of the next step, as in slime."""
        number = self.samples // self.args.global_batch_size
        loss = self.loss(batch)
        norm = torch.linalg.vector_norm(self.gradients).item()
        if not (math.isfinite(loss) and math.isfinite(norm)):
            fail(f"step {number}: loss {loss} and gradient norm {norm}, where both must be finite")
        if 0 < self.args.clip_grad < norm:
            self.gradients.mul_(self.args.clip_grad / (norm + 1e-6))
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate(self.args, self.samples)
        self.optimizer.step()
        self.samples += len(batch)
        if self.device.type == "cuda":
            torch.cuda.synchronize()
        rate = learning_rate(self.args, self.samples)
        record = {"train/loss": loss, "train/grad_norm": norm, "train/lr-pg_0": rate, "train/lr-pg_1": rate}
        return record | {"train/global_batch_size": len(batch), "train/step": number}


def say_batch(rollout: int, batch: list[Row], fetch_s: float) -> None:
    """Prints slime's data records of a batch, and its fingerprint: two runs with the same ate the same rows."""
    supervised = [row.supervised for row in batch]
    key = "rollout/response_len"
    record = {f"{key}/mean": statistics.fmean(supervised), f"{key}/median": statistics.median(supervised)}
    record |= {f"{key}/max": max(supervised), f"{key}/min": min(supervised), "perf/rollout_time": fetch_s}
    logger.info("perf %d: %s", rollout, record)
    first, length = rollout * len(batch), len(batch[0].tokens)
    span = f"rows {first} to {first + len(batch) - 1}, {length} tokens each"
    logger.info("batch %d: %s, sha256 %s", rollout, span, fingerprint(batch))
    tail = statistics.fmean(length - int(row.targets.nonzero()[0, 0]) for row in batch)
    logger.info("rollout %d: %s", rollout, {"rollout/response_lengths": tail, "rollout/total_lengths": float(length)})


def train(args: argparse.Namespace, trainer: Trainer, source: Iterator[Row]) -> None:
    """Trains every batch. A step's time runs from the end of the one before: together they tile the wall time."""
    end = time.perf_counter()
    for rollout in range(args.num_rollout):
        fetch = time.perf_counter()
        batch = list(islice(source, args.rollout_batch_size))
        start = time.perf_counter()
        say_batch(rollout, batch, start - fetch)
        actor_start = time.perf_counter()
        for begin in range(0, len(batch), args.global_batch_size):
            step = trainer.step(batch[begin : begin + args.global_batch_size])
            logger.info("step %d: %s", step["train/step"], step)
        previous, end = end, time.perf_counter()
        wait_s, train_s, actor_s = start - previous, end - start, end - actor_start
        record = {"perf/train_wait_time": wait_s, "perf/actor_train_time": actor_s, "perf/train_time": train_s}
        record["perf/actor_train_tok_per_s"] = sum(len(row.tokens) for row in batch) / actor_s
        record |= {"perf/step_time": wait_s + train_s, "perf/wait_time_ratio": wait_s / (wait_s + train_s)}
        logger.info("perf %d: %s", rollout, record)


def end_with_launcher() -> None:
    """Ends this rank when its launcher is gone, also where that was killed and could end nobody."""
    launcher = os.getppid()

    def watch() -> None:
        while os.getppid() == launcher:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def join_ranks(args: argparse.Namespace) -> torch.device:
    """The device of this rank, with the process group open where there are several ranks."""
    device = torch.device(args.device, LOCAL_RANK if args.device == "cuda" else None)
    if args.device == "cuda":
        if torch.cuda.device_count() <= LOCAL_RANK:
            fail(f"--device cuda: {RANKS} ranks, but {torch.cuda.device_count()} GPUs can be seen")
        torch.cuda.set_device(device)
    else:
        torch.use_deterministic_algorithms(mode=True)
        torch.utils.deterministic.fill_uninitialized_memory = False
    if RANKS > 1:
        loopback = [name for _, name in socket.if_nameindex() if name in ("lo", "lo0")]
        if loopback and os.environ.get("LOCAL_WORLD_SIZE") == str(RANKS):
            os.environ.setdefault("GLOO_SOCKET_IFNAME", loopback[0])  # a host's own name may not resolve
        dist.init_process_group("nccl" if args.device == "cuda" else "gloo")
    return device


def model_config(folder: Path) -> Any:
    """The shape in the folder's config.json, its text part where it has several."""
    if not (folder / "config.json").is_file():
        fail(f"--hf-checkpoint {folder}: no config.json there")
    try:
        return transformers.AutoConfig.from_pretrained(folder).get_text_config()
    except (OSError, ValueError, KeyError, TypeError) as problem:
        fail(f"--hf-checkpoint {folder}: {problem}")


def introduce(args: argparse.Namespace, trainer: Trainer) -> None:
    """Prints the arguments and the model's size in Megatron's form, and what it runs on."""
    values = vars(args) | {"world_size": RANKS, "data_parallel_size": RANKS}
    print("------------------------ arguments ------------------------")
    for name in sorted(values):
        print(f"  {name} {'.' * (48 - len(name))} {values[name]}")
    print("-------------------- end of arguments ---------------------")
    model = trainer.model
    edges = {model.get_input_embeddings().weight, model.get_output_embeddings().weight}
    count, outer = len(trainer.gradients), sum(weight.numel() for weight in edges)
    print(f" > number of parameters on (tensor, pipeline) model parallel rank (0, 0): {count}", flush=True)
    sizes = f"{count - outer} random weights besides {outer} of embedding and head"
    logger.info("model: %s, %s", model.config.model_type, sizes)
    versions = f"python {platform.python_version()}, torch {torch.__version__}, pyarrow {pyarrow.__version__}"
    versions += f", transformers {transformers.__version__}"
    where = torch.cuda.get_device_name() if trainer.device.type == "cuda" else platform.machine()
    logger.info("versions: %s; ranks: %d, %d threads each, on %s", versions, RANKS, torch.get_num_threads(), where)


def main() -> None:
    """Trains as the flags say; rank 0 prints."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # ends at once, without a traceback from every rank
    if "TORCHELASTIC_RUN_ID" in os.environ:
        end_with_launcher()
    form = "[%(asctime)s] %(filename)s:%(lineno)d - %(message)s"
    logging.basicConfig(level=logging.WARNING if RANK else logging.INFO, format=form, datefmt="%Y-%m-%d %H:%M:%S")
    if RANK:
        transformers.logging.set_verbosity_error()
    args = parse()
    config = model_config(args.hf_checkpoint)
    source = rows(args, open_rows(args), config.vocab_size)
    trainer = Trainer(args, config, join_ranks(args))
    if RANK == 0:
        introduce(args, trainer)
    train(args, trainer, source)
    if RANKS > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
