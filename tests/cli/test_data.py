"""`data build`, `data verify` and `data show` as users call them."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from called import Called, openrecipes
from varied_recipes import PUBLISHED, SMOKE

ROOT = Path(__file__).resolve().parents[2]
SOURCE = "data/fixtures/conversations.jsonl"


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def call(*words: object) -> Called:
    return openrecipes("data", *words)


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    done = call("build", "--source", SOURCE, "--rows", 8, "--row-tokens", 128, "--seed", 42, "-o", path, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    return path, json.loads(done.stdout)


def test_build_prints_the_manifest_that_it_wrote(rows: tuple[Path, dict[str, Any]]) -> None:
    path, manifest = rows
    assert json.loads(path.with_name("rows.parquet.manifest.json").read_text(encoding="utf-8")) == manifest
    assert (manifest["rows"], manifest["row_tokens"], manifest["padding_tokens"]) == (8, 128, 0)
    assert manifest["name"] == "rows"


def test_verify_answers_with_its_status(rows: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    path, manifest = rows
    done = call("verify", path, "--json")
    answer = json.loads(done.stdout)
    assert (done.returncode, answer["ok"], answer["problems"]) == (0, True, [])
    for key in ("rows", "row_tokens", "rows_sha256", "parquet_sha256", "parquet_bytes", "supervised_token_ratio"):
        assert answer[key] == manifest[key]
    damaged = tmp_path / "damaged.parquet"
    damaged.write_bytes(path.read_bytes()[:-9])
    done = call("verify", damaged, "--json")
    answer = json.loads(done.stdout)
    assert (done.returncode, answer["ok"]) == (1, False)
    assert {problem["rule"] for problem in answer["problems"]} == {"rows-readable", "manifest-there"}
    assert call("verify", tmp_path / "none.parquet").returncode == 2


def test_verify_says_that_the_published_hash_cannot_be_compared(rows: tuple[Path, dict[str, Any]]) -> None:
    done = call("verify", rows[0], "--recipe", PUBLISHED[0], "--json")
    rules = {problem["rule"]: problem["severity"] for problem in json.loads(done.stdout)["problems"]}
    assert rules == {"rows-as-recipe-says": "error", "rows-hash-not-comparable": "warning"}
    assert done.returncode == 1


def test_show_marks_what_is_supervised(rows: tuple[Path, dict[str, Any]]) -> None:
    done = call("show", rows[0], "--row", 1)
    assert done.returncode == 0
    assert "⟦" in done.stdout
    assert "row 1: 128 tokens" in done.stdout
    assert "\x1b" not in done.stdout
    assert json.loads(call("show", rows[0], "--row", 1, "--json").stdout)["row"] == 1
    assert call("show", rows[0], "--row", 99).returncode == 2


def test_build_from_a_recipe_needs_nothing_else(tmp_path: Path) -> None:
    done = call("build", "--recipe", SMOKE, "-o", tmp_path / "rows.parquet")
    assert done.returncode == 0, done.stderr
    assert call("verify", tmp_path / "rows.parquet", "--recipe", SMOKE).returncode == 0
    done = call("build", "--recipe", SMOKE, "--rows", 3, "--seed", 1, "-o", tmp_path / "other.parquet")
    assert done.returncode == 2
    assert "--rows, --seed given beside --recipe" in done.stderr


def test_the_script_that_recipes_name_is_the_same_builder(tmp_path: Path, rows: tuple[Path, dict[str, Any]]) -> None:
    words = ["--source", SOURCE, "--rows", "8", "--row-tokens", "128", "--seed", "42", "-o", tmp_path / "rows.parquet"]
    script = ROOT / "data" / "generate_fixed_sft.py"
    done = subprocess.run(
        [sys.executable, script, *words, "--json"], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert json.loads(done.stdout)["rows_sha256"] == rows[1]["rows_sha256"]


BAD: list[tuple[list[object], int, str]] = [
    (["--source", SOURCE], 2, "--rows, --row-tokens, --seed not given"),
    (["--source", "none.jsonl", "--rows", 1, "--row-tokens", 8, "--seed", 1], 2, "none.jsonl: there is no such file"),
    (["--source", SOURCE, "--rows", 10**6, "--row-tokens", 8192, "--seed", 1], 1, "gives "),
    (
        ["--source", SOURCE, "--rows", 1, "--row-tokens", 8, "--seed", 1, "--tokenizer", "nowhere"],
        2,
        "nowhere: cannot be read",
    ),
    (["--recipe", "no-such-recipe"], 2, "no-such-recipe"),
    (["--recipe", PUBLISHED[0]], 1, "tokenizer"),
]


@pytest.mark.parametrize(("words", "status", "says"), BAD)
def test_a_mistake_is_said_in_two_lines_and_leaves_nothing(
    words: list[object], status: int, says: str, tmp_path: Path
) -> None:
    done = call("build", *words, "-o", tmp_path / "rows.parquet")
    assert done.returncode == status
    assert says in done.stderr
    assert "  mend: " in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert names_in(tmp_path) == []


def test_a_disk_that_fills_up_is_said_and_leaves_nothing(tmp_path: Path) -> None:
    words = f"--source {SOURCE} --rows 400 --row-tokens 256 --seed 1 -o {tmp_path}/rows.parquet"
    limited = f"ulimit -f 64; exec {sys.executable} -m openrecipes data build {words}"
    done = subprocess.run(["bash", "-c", limited], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 1
    assert "could not be written" in done.stderr
    assert "Traceback" not in done.stderr
    assert names_in(tmp_path) == []
