"""The rollout function inside slime's own code, from a checkout: SLIME_DIR=DIR pytest tests/launch."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from packed_rows import packed_rows, token_ids, write_rows

pytestmark = [pytest.mark.checkout("SLIME_DIR"), pytest.mark.tool("module:torch", "module:transformers")]

ROWS = packed_rows(24, 64, 1000)
TOKENS = [hashlib.sha256(json.dumps(token_ids(tokens)).encode()).hexdigest() for tokens, _ in ROWS]
TAILS = [list(mask[mask.index(1, 1) :]) for _, mask in ROWS]


@pytest.fixture(scope="module")
def slime(tmp_path_factory: pytest.TempPathFactory) -> Any:
    rows = write_rows(tmp_path_factory.mktemp("rows") / "rows.parquet", ROWS)
    script = Path(__file__).with_name("slime_checkout.py")
    done = subprocess.run(
        [sys.executable, str(script), str(rows)], capture_output=True, text=True, check=False, env=dict(os.environ)
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("ranks", [1, 2, 4, 8])
def test_ranks_share_the_file_rows_in_turn(slime: Any, ranks: int) -> None:
    for number, batch in enumerate(slime[f"ranks {ranks}"]):
        assert len(batch) == ranks
        for rank, dealt in enumerate(batch):
            mine = slice(8 * number + rank, 8 * number + 8, ranks)
            assert dealt["tokens"] == TOKENS[mine]
            assert dealt["loss_masks"] == TAILS[mine]
            assert dealt["response_lengths"] == [len(tail) for tail in TAILS[mine]]
            assert dealt["micro_batch_indices"] == [[index] for index in range(8 // ranks)]
            assert dealt["global_batch_sizes"] == [8]
            assert dealt["total_lengths"] == [64] * 8


def test_every_row_is_trained_on_once(slime: Any) -> None:
    eaten = [token for batch in slime["ranks 4"] for dealt in batch for token in dealt["tokens"]]
    assert sorted(eaten) == sorted(TOKENS)


def test_a_resumed_run_takes_the_rows_of_its_step(slime: Any) -> None:
    assert slime["resumed at 2"] == slime["ranks 2"][2]


def test_two_rows_fill_a_microbatch_where_both_fit(slime: Any) -> None:
    assert [dealt["micro_batch_indices"] for dealt in slime["two rows a microbatch"]] == [[[0, 1], [2, 3]]] * 2
    assert slime["two rows a microbatch"][1]["tokens"] == [TOKENS[index] for index in (2, 3, 6, 7)]


def test_rows_run_out_where_slime_would_start_again(slime: Any) -> None:
    assert slime["slime's own past the end"] == 32
    assert slime["ours past the end"].startswith("rows run out: 4 batches of 8 rows take 32, but ")
