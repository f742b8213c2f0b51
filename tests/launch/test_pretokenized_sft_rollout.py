"""The rollout function against a fake of slime's contract: sample, dataset, and a data source that wraps around."""

import copy
import hashlib
import logging
import re
import sys
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from packed_rows import Pair, launch_script, packed_rows, token_ids

ROWS = packed_rows(12, 64, 1000)


@dataclass
class Sample:
    metadata: Any
    prompt: Any = None
    tokens: list[int] = field(default_factory=list)
    response_length: int = 0
    loss_mask: list[int] | None = None
    reward: float | None = None
    index: int | None = None
    rollout_id: int | None = None


class DataSource:
    """As slime's RolloutDataSource: copies of the rows in order, from the start again when they run out."""

    def __init__(self, rows: list[Any]) -> None:
        samples = [Sample({"tokens": row[0], "loss_mask": row[1]} if isinstance(row, tuple) else row) for row in rows]
        self.dataset = SimpleNamespace(samples=samples)
        self.sample_offset = self.epoch_id = self.sample_index = self.sample_group_index = 0

    def get_samples(self, count: int) -> list[list[Sample]]:
        taken = self.dataset.samples[self.sample_offset : self.sample_offset + count]
        self.sample_offset += count
        if len(taken) < count:
            self.epoch_id, self.sample_offset = self.epoch_id + 1, count - len(taken)
            taken = taken + self.dataset.samples[: self.sample_offset]
        return [[copy.deepcopy(sample)] for sample in taken]


def arguments(**changes: Any) -> SimpleNamespace:
    values = {
        "rollout_batch_size": 4,
        "global_batch_size": 4,
        "num_rollout": 3,
        "n_samples_per_prompt": 1,
        "rollout_shuffle": False,
        "prompt_data": "rows.parquet",
        "use_dynamic_batch_size": True,
        "max_tokens_per_gpu": 64,
        "context_parallel_size": 1,
        "vocab_size": 1000,
    }
    return SimpleNamespace(**(values | changes))


@pytest.fixture
def rollout(monkeypatch: pytest.MonkeyPatch) -> Any:
    @dataclass
    class RolloutFnTrainOutput:
        samples: list[list[Any]]
        metrics: dict[str, Any] | None = None

    base_types = ModuleType("slime.rollout.base_types")
    base_types.RolloutFnTrainOutput = RolloutFnTrainOutput  # type: ignore[attr-defined]
    for name in ("slime", "slime.rollout"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, "slime.rollout.base_types", base_types)
    return launch_script("pretokenized_sft_rollout").generate_rollout


def taken(output: Any) -> list[Sample]:
    assert all(len(group) == 1 for group in output.samples)
    return [group[0] for group in output.samples]


def with_row(index: int, row: Any) -> list[Any]:
    return [*ROWS[:index], row, *ROWS[index + 1 :]]


def test_batches_are_the_file_rows_in_order(rollout: Any) -> None:
    source = DataSource(ROWS)
    eaten = [sample for number in range(3) for sample in taken(rollout(arguments(), number, source))]
    assert [sample.tokens for sample in eaten] == [token_ids(tokens) for tokens, _ in ROWS]
    assert len(eaten) == len(ROWS)


def test_a_sample_is_what_slime_trains_on(rollout: Any) -> None:
    for sample, (_, mask) in zip(taken(rollout(arguments(), 0, DataSource(ROWS))), ROWS, strict=False):
        assert 1 <= sample.response_length <= len(sample.tokens) - 1
        assert sample.loss_mask == list(mask)[-sample.response_length :]
        assert sample.loss_mask is not None
        assert sample.loss_mask[0] == 1
        assert sum(sample.loss_mask) == sum(mask[1:])
        assert (sample.reward, sample.metadata, sample.rollout_id) == (0, {}, None)
        assert {type(value) for value in (*sample.tokens, *sample.loss_mask)} == {int}


def test_the_first_position_is_never_a_target(rollout: Any) -> None:
    tokens, _ = ROWS[0]
    sample = taken(rollout(arguments(), 0, DataSource([(tokens, b"\1" * 64), *ROWS[1:]])))[0]
    assert (sample.response_length, sample.loss_mask) == (63, [1] * 63)


def test_the_rows_held_in_memory_stay_as_they_are(rollout: Any) -> None:
    source = DataSource(ROWS)
    rollout(arguments(), 0, source)
    assert source.dataset.samples[0].metadata == {"tokens": ROWS[0][0], "loss_mask": ROWS[0][1]}


@pytest.mark.parametrize("start", [1, 2])
def test_a_resumed_run_takes_the_rows_of_its_step(rollout: Any, start: int) -> None:
    whole = DataSource(ROWS)
    expected = [taken(rollout(arguments(), number, whole)) for number in range(3)][start]
    assert taken(rollout(arguments(), start, DataSource(ROWS))) == expected


def test_a_batch_asked_for_twice_is_the_same(rollout: Any) -> None:
    source = DataSource(ROWS)
    assert taken(rollout(arguments(), 0, source)) == taken(rollout(arguments(), 0, source))


def test_the_fingerprint_is_that_of_tokens_and_masks_in_order(rollout: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    source = DataSource(ROWS)
    for number in range(2):
        rollout(arguments(), number, source)
    lines = [
        re.fullmatch(r"batch (\d): rows (\d) to (\d), 64 tokens each, sha256 (\w{64})", m) for m in caplog.messages
    ]
    stored = [b"".join(tokens + mask for tokens, mask in ROWS[first : first + 4]) for first in (0, 4)]
    found = [line.groups() for line in lines if line]
    assert found == [
        ("0", "0", "3", hashlib.sha256(stored[0]).hexdigest()),
        ("1", "4", "7", hashlib.sha256(stored[1]).hexdigest()),
    ]


def test_rows_that_would_run_out_stop_the_run_at_its_first_batch(rollout: Any) -> None:
    with pytest.raises(ValueError, match=r"rows run out: 4 batches of 4 rows take 16, but rows.parquet holds 12"):
        rollout(arguments(num_rollout=4), 0, DataSource(ROWS))


def test_a_batch_past_the_last_row_is_never_the_first_rows_again(rollout: Any) -> None:
    source = DataSource(ROWS)
    assert len(source.get_samples(16)) == 16  # the source itself starts again
    with pytest.raises(ValueError, match="rows run out"):
        rollout(arguments(num_rollout=None), 3, DataSource(ROWS))


def test_evaluation_is_refused(rollout: Any) -> None:
    with pytest.raises(ValueError, match="--eval-interval"):
        rollout(arguments(), 0, DataSource(ROWS), evaluation=True)


BAD_ROWS: list[tuple[str, Any, str]] = [
    ("shorter", packed_rows(1, 63, 1000)[0], "63 tokens, where row 0 holds 64"),
    ("longer", packed_rows(1, 65, 1000)[0], "65 tokens, where row 0 holds 64"),
    ("mask of another length", (ROWS[2][0], ROWS[2][1][:-1]), "256 bytes of tokens .* for 63 bytes of mask"),
    ("no target", (ROWS[2][0], bytes(64)), "no supervised token"),
    ("a target only at the first position", (ROWS[2][0], b"\1" + bytes(63)), "no supervised token"),
    ("mask with a 2", (ROWS[2][0], b"\2" * 64), "its mask holds 2"),
    (
        "token past the vocabulary",
        (b"\xe8\x03\0\0" * 64, ROWS[2][1]),
        "token ids 1000 to 1000, where --vocab-size is 1000",
    ),
    ("negative token", (b"\xff" * 256, ROWS[2][1]), "token ids -1 to -1"),
    ("no metadata", {}, "must hold tokens and loss_mask as bytes"),
    ("lists", {"tokens": [1] * 64, "loss_mask": [1] * 64}, "must hold tokens and loss_mask as bytes"),
    ("text", "metadata", "must hold tokens and loss_mask as bytes"),
]


@pytest.mark.parametrize(("row", "message"), [case[1:] for case in BAD_ROWS], ids=[case[0] for case in BAD_ROWS])
def test_a_bad_row_is_named(rollout: Any, row: Pair, message: str) -> None:
    source = DataSource(with_row(6, row))
    rollout(arguments(), 0, source)
    with pytest.raises(ValueError, match=rf"^row 6 of rows.parquet: .*{message}"):
        rollout(arguments(), 1, source)


BAD_SETTINGS: list[tuple[dict[str, Any], str]] = [
    ({"rollout_shuffle": True}, "--rollout-shuffle"),
    ({"n_samples_per_prompt": 2}, "--n-samples-per-prompt is 2"),
    ({"global_batch_size": 3}, "slime would drop 1 rows of every batch"),
    ({"max_tokens_per_gpu": 32}, "more than --max-tokens-per-gpu 32 x --context-parallel-size 1"),
]


@pytest.mark.parametrize(("change", "message"), BAD_SETTINGS, ids=[next(iter(case[0])) for case in BAD_SETTINGS])
def test_a_setting_that_cannot_work_is_named(rollout: Any, change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        rollout(arguments(**change), 0, DataSource(ROWS))


def test_context_parallel_ranks_share_a_row(rollout: Any) -> None:
    rollout(arguments(max_tokens_per_gpu=32, context_parallel_size=2), 0, DataSource(ROWS))


def test_a_source_without_rows_is_named(rollout: Any) -> None:
    source = DataSource(ROWS)
    source.dataset = None  # type: ignore[assignment]
    with pytest.raises(ValueError, match="--prompt-data must name them"):
        rollout(arguments(), 0, source)
