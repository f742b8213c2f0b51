"""The smoke trainer's parts and, on a model of a few thousand weights, its whole run in this process."""

import json
import logging
import math
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from packed_rows import TINY_MODEL, Pair, launch_script, packed_rows, token_ids, write_rows

pytestmark = pytest.mark.tool("module:torch", "module:transformers")

RECORD = re.compile(r"(?P<kind>step|perf|rollout) (?P<number>\d+): (?P<record>\{.*\})")


class EndedError(Exception):
    """Stands for the end of the process."""


@pytest.fixture
def smoke(monkeypatch: pytest.MonkeyPatch) -> Any:
    for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    module = launch_script("smoke_sft")

    def fail(message: str) -> None:
        raise EndedError(message)

    monkeypatch.setattr(module, "fail", fail)
    return module


@pytest.fixture
def model_folder(tmp_path: Path) -> Path:
    (tmp_path / "config.json").write_text(json.dumps(TINY_MODEL))
    return tmp_path


def flags(folder: Path, **changes: Any) -> list[str]:
    values = {"num-rollout": 14, "rollout-batch-size": 4, "global-batch-size": 4, "lr": 1e-3, "min-lr": 1e-4}
    values |= {"lr-decay-style": "cosine", "lr-warmup-fraction": 0.1, "hf-checkpoint": folder, "seed": 42}
    values["prompt-data"] = folder / "rows.parquet"
    values |= {name.replace("_", "-"): value for name, value in changes.items()}
    return ["--calculate-per-token-loss", *(f"--{name}={value}" for name, value in values.items())]


def trained(smoke: ModuleType, folder: Path, rows: list[Pair], **changes: Any) -> Any:
    write_rows(folder / "rows.parquet", rows)
    args = smoke.parse(flags(folder, **changes))
    config = smoke.model_config(args.hf_checkpoint)
    source = smoke.rows(args, smoke.open_rows(args), config.vocab_size)
    trainer = smoke.Trainer(args, config, smoke.torch.device("cpu"))
    smoke.train(args, trainer, source)
    return trainer


def records(messages: list[str], kind: str, key: str) -> list[dict[str, float]]:
    found = [match for message in messages if (match := RECORD.fullmatch(message))]
    payloads = [json.loads(match["record"].replace("'", '"')) for match in found if match["kind"] == kind]
    return [payload for payload in payloads if key in payload]


def row(smoke: ModuleType, pair: Pair, **changes: Any) -> Any:
    return smoke.row_from_bytes(*pair, **({"where": "row 6", "row_tokens": 64, "vocab_size": 1000} | changes))


@pytest.mark.parametrize(
    ("steps", "printed"), [(14, [7.142857e-06, 9.949739e-06, 9.646643e-06]), (20, [5e-06, 1e-05, 9.931635e-06])]
)
def test_the_rate_is_that_of_megatrons_scheduler(smoke: Any, steps: int, printed: list[float]) -> None:
    changes = {"num_rollout": steps, "rollout_batch_size": 128, "global_batch_size": 128, "lr": 1e-5, "min_lr": 1e-6}
    args = smoke.parse(flags(Path(), **changes))
    rates = [smoke.learning_rate(args, step * 128) for step in range(steps + 1)]
    assert rates[0] == 0
    assert rates[1:4] == pytest.approx(printed, rel=1e-6)
    assert rates[-1] == pytest.approx(1e-6)


def test_a_linear_and_a_constant_rate_end_where_they_should(smoke: Any) -> None:
    linear = smoke.parse(flags(Path(), lr_decay_style="linear", lr_warmup_fraction=0))
    constant = smoke.parse(flags(Path(), lr_decay_style="constant"))
    assert [smoke.learning_rate(linear, rows) for rows in (0, 28, 56)] == pytest.approx([1e-3, 5.5e-4, 1e-4])
    assert smoke.learning_rate(constant, 56) == 1e-3


@pytest.mark.parametrize("logits_at_a_time", [1, 300, 900, 10**6])
def test_cross_entropy_in_chunks_is_plain_cross_entropy(
    smoke: Any, monkeypatch: pytest.MonkeyPatch, logits_at_a_time: int
) -> None:
    torch = smoke.torch
    monkeypatch.setattr(smoke, "LOGITS_AT_A_TIME", logits_at_a_time)
    draw = torch.Generator().manual_seed(3)
    hidden = torch.randn(17, 8, generator=draw, dtype=torch.float64).requires_grad_()
    head = torch.randn(300, 8, generator=draw, dtype=torch.float64).requires_grad_()
    targets = torch.randint(300, (17,), generator=draw)
    weights = torch.rand(17, generator=draw, dtype=torch.float64)
    chunked_loss = smoke.ChunkedCrossEntropy.apply(hidden, head, targets, weights)
    plain_loss = (torch.nn.functional.cross_entropy(hidden @ head.T, targets, reduction="none") * weights).sum()
    results = [[loss, *torch.autograd.grad(3 * loss, (hidden, head))] for loss in (chunked_loss, plain_loss)]
    for chunked, plain in zip(*results, strict=True):
        torch.testing.assert_close(chunked, plain)


def test_logits_beyond_the_range_of_exp_have_a_loss(smoke: Any) -> None:
    torch = smoke.torch
    hidden, head = torch.tensor([[1000.0]], requires_grad=True), torch.tensor([[1.0], [2.0]], requires_grad=True)
    loss = smoke.ChunkedCrossEntropy.apply(hidden, head, torch.tensor([0]), torch.ones(1))
    assert loss.item() == 1000


def test_a_row_keeps_its_tokens_and_drops_its_first_target(smoke: Any) -> None:
    (tokens, _), mask = packed_rows(1, 64, 1000)[0], b"\1" * 64
    found = row(smoke, (tokens, mask))
    assert found.tokens.tolist() == token_ids(tokens)
    assert found.targets.tolist() == [False] + [True] * 63
    assert (found.supervised, found.stored) == (63, tokens + mask)


GOOD = packed_rows(1, 64, 1000)[0]
BAD_ROWS: list[tuple[str, Pair, str]] = [
    ("shorter", packed_rows(1, 63, 1000)[0], "63 tokens, where every row must hold 64"),
    ("mask of another length", (GOOD[0], GOOD[1][:-1]), "256 bytes of tokens .* for 63 bytes of mask"),
    ("empty", (b"", b""), "0 tokens"),
    ("no target", (GOOD[0], bytes(64)), "no supervised token"),
    ("a target only at the first position", (GOOD[0], b"\1" + bytes(63)), "no supervised token"),
    ("mask with a 2", (GOOD[0], b"\2" * 64), "its mask holds 2"),
    (
        "token past the vocabulary",
        (b"\xe8\3\0\0" * 64, GOOD[1]),
        "token ids 1000 to 1000, where the model knows 0 to 999",
    ),
    ("negative token", (b"\xff" * 256, GOOD[1]), "token ids -1 to -1"),
]


@pytest.mark.parametrize(("pair", "message"), [case[1:] for case in BAD_ROWS], ids=[case[0] for case in BAD_ROWS])
def test_a_bad_row_is_named(smoke: Any, pair: Pair, message: str) -> None:
    with pytest.raises(EndedError, match=rf"^row 6: .*{message}"):
        row(smoke, pair)


BAD_FLAGS: list[tuple[dict[str, Any], str]] = [
    ({"lrr": 1}, "unrecognized arguments: --lrr=1"),
    ({"loss_type": "policy_loss"}, "invalid choice: 'policy_loss'"),
    ({"rollout_batch_size": 6}, "--rollout-batch-size 6 is no multiple of the global batch"),
    ({"num_rollout": 0}, "--num-rollout 0: must be at least 1"),
    ({"lr_warmup_fraction": 1}, "--lr-warmup-fraction 1.0: must be at least 0 and below 1"),
]


@pytest.mark.parametrize(("change", "message"), BAD_FLAGS, ids=[next(iter(case[0])) for case in BAD_FLAGS])
def test_a_wrong_flag_is_named(smoke: Any, change: dict[str, Any], message: str) -> None:
    with pytest.raises(EndedError, match=message):
        smoke.parse(flags(Path(), **change))


def test_a_global_batch_that_the_ranks_cannot_share_is_named(smoke: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smoke, "RANKS", 3)
    with pytest.raises(EndedError, match="--global-batch-size 4 is no multiple of the 3 ranks"):
        smoke.parse(flags(Path()))


def test_files_that_cannot_be_trained_on_are_named(smoke: Any, tmp_path: Path) -> None:
    args = smoke.parse(flags(tmp_path))
    with pytest.raises(EndedError, match=r"no config\.json there"):
        smoke.model_config(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "no_such_model"}')
    with pytest.raises(EndedError, match="no_such_model"):
        smoke.model_config(tmp_path)
    with pytest.raises(EndedError, match="no such file"):
        smoke.open_rows(args)
    args.prompt_data.write_bytes(b"PAR1 and nothing more")
    with pytest.raises(EndedError, match=r"rows\.parquet: "):
        smoke.open_rows(args)
    write_rows(args.prompt_data, packed_rows(55, 8, 300))
    with pytest.raises(EndedError, match="runs out: it holds 55 rows, for 14 batches of 4"):
        smoke.open_rows(args)
    args.input_key = "prompt"
    with pytest.raises(EndedError, match="has no column prompt, its columns are messages, metadata"):
        smoke.open_rows(args)
    args.input_key = args.metadata_key = "messages"
    with pytest.raises(EndedError, match="column messages must hold tokens and loss_mask"):
        smoke.open_rows(args)


def test_the_loss_falls_and_every_step_is_logged(
    smoke: Any, model_folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="smoke_sft")
    trained(smoke, model_folder, packed_rows(56, 64, 300))
    steps = records(caplog.messages, "step", "train/loss")
    assert [step["train/step"] for step in steps] == list(range(14))
    losses = [step["train/loss"] for step in steps]
    assert losses[0] == pytest.approx(math.log(300), rel=0.02)
    assert losses[-1] < losses[1] - 0.03
    assert min(step["train/grad_norm"] for step in steps) > 0
    assert steps[-1]["train/lr-pg_0"] == pytest.approx(1e-4)


def test_step_times_tile_the_run(smoke: Any, model_folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="smoke_sft")
    trained(smoke, model_folder, packed_rows(12, 64, 300), num_rollout=3)
    perf = records(caplog.messages, "perf", "perf/step_time")
    assert len(perf) == 3
    for record in perf:
        assert record["perf/step_time"] == record["perf/train_wait_time"] + record["perf/train_time"]
        assert record["perf/actor_train_time"] <= record["perf/train_time"]
        assert record["perf/actor_train_tok_per_s"] * record["perf/actor_train_time"] == pytest.approx(4 * 64)
        assert 0 < record["perf/wait_time_ratio"] < 1


def test_data_records_count_what_is_supervised(
    smoke: Any, model_folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="smoke_sft")
    rows = packed_rows(8, 64, 300)
    trained(smoke, model_folder, rows, num_rollout=2)
    counts = [sum(mask[1:]) for _, mask in rows]
    data = records(caplog.messages, "perf", "perf/rollout_time")
    assert [record["rollout/response_len/mean"] for record in data] == [sum(counts[:4]) / 4, sum(counts[4:]) / 4]
    assert data[0]["rollout/response_len/max"] == max(counts[:4])
    tails = [64 - mask.index(1, 1) for _, mask in rows]
    assert records(caplog.messages, "rollout", "rollout/total_lengths") == [
        {"rollout/response_lengths": sum(tails[:4]) / 4, "rollout/total_lengths": 64.0},
        {"rollout/response_lengths": sum(tails[4:]) / 4, "rollout/total_lengths": 64.0},
    ]


def test_a_batch_of_several_steps_prints_each(smoke: Any, model_folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="smoke_sft")
    trained(smoke, model_folder, packed_rows(8, 16, 300), num_rollout=1, rollout_batch_size=8)
    assert [step["train/step"] for step in records(caplog.messages, "step", "train/loss")] == [0, 1]
    assert len(records(caplog.messages, "perf", "perf/step_time")) == 1


def losses(smoke: ModuleType, folder: Path, caplog: pytest.LogCaptureFixture, **changes: Any) -> list[float]:
    caplog.clear()
    caplog.set_level(logging.INFO, logger="smoke_sft")
    trained(smoke, folder, packed_rows(12, 64, 300), num_rollout=3, **changes)
    return [step["train/loss"] for step in records(caplog.messages, "step", "train/loss")]


def test_a_seed_fixes_the_losses(smoke: Any, model_folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    first = losses(smoke, model_folder, caplog)
    assert losses(smoke, model_folder, caplog) == first
    assert losses(smoke, model_folder, caplog, seed=43) != first


def test_microbatches_do_not_change_the_loss(smoke: Any, model_folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    first = losses(smoke, model_folder, caplog)
    assert losses(smoke, model_folder, caplog, micro_batch_size=3) == pytest.approx(first, rel=1e-5)


@pytest.mark.parametrize("per_token", [True, False])
def test_the_weights_of_all_targets_add_up_to_one(smoke: Any, *, per_token: bool) -> None:
    batch = [row(smoke, pair) for pair in packed_rows(4, 64, 1000)]
    weights = smoke.target_weights(batch, per_token=per_token)
    assert sum(weight * row.supervised for weight, row in zip(weights, batch, strict=True)) == pytest.approx(1)
    assert (len(set(weights)) == 1) is per_token


def test_a_loss_that_is_no_number_ends_the_run(smoke: Any, model_folder: Path) -> None:
    with pytest.raises(EndedError, match=r"^step 1: loss nan and gradient norm nan, where both must be finite"):
        trained(smoke, model_folder, packed_rows(12, 64, 300), num_rollout=3, lr="nan")


def test_the_fingerprint_line_is_the_rollout_functions(smoke: Any, model_folder: Path, caplog: Any) -> None:
    caplog.set_level(logging.INFO, logger="smoke_sft")
    rows = packed_rows(4, 64, 300)
    trained(smoke, model_folder, rows, num_rollout=1)
    digest = smoke.hashlib.sha256(b"".join(tokens + mask for tokens, mask in rows)).hexdigest()
    assert f"batch 0: rows 0 to 3, 64 tokens each, sha256 {digest}" in caplog.messages


def test_the_arguments_are_printed_in_megatrons_form(smoke: Any, model_folder: Path, capsys: Any) -> None:
    trainer = trained(smoke, model_folder, packed_rows(4, 16, 300), num_rollout=1)
    smoke.introduce(trainer.args, trainer)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "------------------------ arguments ------------------------"
    assert "  global_batch_size ............................... 4" in lines
    assert "  data_parallel_size .............................. 1" in lines
    assert lines[-2] == "-------------------- end of arguments ---------------------"
    assert lines[-1].startswith(" > number of parameters on (tensor, pipeline) model parallel rank (0, 0): ")
