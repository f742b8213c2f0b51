"""`openrecipes rank`: the board in 80 columns, as JSON, and with bad files in the library."""

import json
import shutil
from pathlib import Path

import pytest
from called import Called, openrecipes

ROOT = Path(__file__).parent.parent.parent


def rank(*words: str, folder: Path = ROOT) -> Called:
    return openrecipes("rank", *words, folder=folder)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a copy of the published recipes and of the smoke recipe: new drafts change no test here."""
    for part in ("qwen3.5-397b-a17b/h200", "qwen3.5-moe-mini"):
        shutil.copytree(ROOT / "recipes" / part, tmp_path / "recipes" / part)
    return tmp_path


BOARD = """\
Qwen3.5-397B-A17B on H200
Ranked by tokens/s per GPU · 8,192-token SFT rows · global batch 128 · BF16
qwen35-tulu3-fixed8192-v1 (7a837641dcde) · skip-quarter/1

   Tokens/s  $ / 1M
#   per GPU  tokens  GPUs  Layout                            Measured    Author
1     545.3   $4.03   128  TP2 PP4 EP32 DP16                 2026-10-11  ATTUNE
                           attune-tp2-pp4-ep32               measured
                           max 8,192 tokens/GPU, no offload
2     506.7   $4.34   128  TP1 PP4 EP32 DP32                 2026-10-13  ATTUNE
                           attune-tp1-pp4-ep32               measured
                           max 8,192 tokens/GPU, no offload
3     469.2   $4.68   128  TP2 PP2 EP64 DP32                 2026-10-13  ATTUNE
                           attune-tp2-pp2-ep64               measured
                           max 8,192 tokens/GPU, no offload
the first: openrecipes show qwen3.5-397b-a17b/h200/attune-tp2-pp4-ep32

Qwen3.5-397B-A17B on other GPUs
H100  128 GPUs    313.3 tokens/s/GPU  $6.10 / 1M tokens  recipe not published
H200  128 GPUs    545.3 tokens/s/GPU  $4.03 / 1M tokens  this board
B200   64 GPUs  1,232.5 tokens/s/GPU  $3.21 / 1M tokens  recipe not published
"""


def test_the_board_is_the_pages_in_80_columns(folder: Path) -> None:
    done = rank("--gpu", "H200", folder=folder)
    assert done.returncode == 0, done.stderr
    assert [line.rstrip() for line in done.stdout.splitlines()] == BOARD.splitlines()
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_json_has_the_stated_keys(folder: Path) -> None:
    document = json.loads(rank("--json", folder=folder).stdout)
    [board] = document["boards"]
    assert (board["model"], board["gpu"]) == ("Qwen3.5-397B-A17B", "H200")
    assert [row["tokens_per_s_per_gpu"] for row in board["rows"]] == [545.32, 506.73, 469.19]
    assert board["rows"][0]["author"] == {"name": "ATTUNE", "url": "https://arxiv.org/abs/2610.17528"}
    assert {entry["recipe"] for entry in document["unranked"]} == {"qwen3.5-moe-mini/cpu/smoke-dp2"}
    assert document["problems"] == []


def test_a_bad_file_is_reported_and_the_others_are_ranked(folder: Path) -> None:
    bad = folder / "recipes/qwen3.5-397b-a17b/h200/attune-tp1-pp4-ep32.yaml"
    bad.write_text(bad.read_text().replace("  dp: 32\n", "  dpp: 32\n"))
    (folder / "recipes/qwen3.5-397b-a17b/h200/nothing.yaml").write_bytes(b"\xff\xfe\x00")
    done = rank("--json", folder=folder)
    assert done.returncode == 0
    document = json.loads(done.stdout)
    assert [row["rank"] for row in document["boards"][0]["rows"]] == [1, 2]
    assert {Path(problem["file"]).name for problem in document["problems"]} == {bad.name, "nothing.yaml"}
    assert "warning: " in done.stderr
    assert "attune-tp1-pp4-ep32.yaml" in done.stderr


def test_a_rate_beyond_the_peak_is_not_ranked(folder: Path) -> None:
    fast = folder / "recipes/qwen3.5-397b-a17b/h200/attune-tp2-pp4-ep32.yaml"
    fast.write_text(fast.read_text().replace("tokens_per_s_per_gpu: 545.32", "tokens_per_s_per_gpu: 69801.0"))
    document = json.loads(rank("--json", folder=folder).stdout)
    assert [row["tokens_per_s_per_gpu"] for row in document["boards"][0]["rows"]] == [506.73, 469.19]
    assert "impossible: tokens_per_s_per_gpu is beyond the peak of H200" in [
        entry["reason"] for entry in document["unranked"]
    ]


def test_a_library_without_recipes_says_so(tmp_path: Path) -> None:
    (tmp_path / "recipes").mkdir()
    done = rank(folder=tmp_path)
    assert done.returncode == 0
    assert done.stdout.startswith("No result is ranked here.")
    assert json.loads(rank("--json", folder=tmp_path).stdout)["boards"] == []


@pytest.mark.parametrize(
    ("words", "mend"), [(["--gpu", "H20"], "write one of H200, "), (["--model", "Qwen3.5"], "write ")]
)
def test_an_unknown_name_is_wrong_usage_and_names_the_nearest(words: list[str], mend: str) -> None:
    done = rank(*words)
    assert done.returncode == 2
    assert mend in done.stderr
    assert "[rank-known]" in done.stderr
