"""The check that a node can run by itself: the same verdict as `data verify`, without openrecipes."""

import ast
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from packed_rows import LAUNCH, launch_script

from openrecipes.rows.build import BuildSettings, build
from openrecipes.rows.embedded_tokenizer import EMBEDDED
from openrecipes.rows.manifest import Manifest, manifest_path
from openrecipes.rows.source import open_source
from openrecipes.rows.verify import verify

SCRIPT = LAUNCH / "verify_rows.py"


@pytest.fixture
def built(
    tmp_path: Path, jsonl: Callable[..., Path], chats: Callable[[int], list[dict[str, Any]]]
) -> tuple[Path, Manifest]:
    settings = BuildSettings(name="test", tokenizer=EMBEDDED, rows=20, row_tokens=32, seed=1)
    path = tmp_path / "rows.parquet"
    return path, build(open_source(jsonl(chats(60))), settings, path)


@pytest.fixture
def check(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, Any]]:
    """Runs the script in this process: its status and its JSON."""
    script = launch_script("verify_rows")

    def checked(*words: object) -> tuple[int, Any]:
        monkeypatch.setattr(sys, "argv", ["verify_rows.py", *map(str, words), "--json"])
        status = script.main()
        return status, json.loads(capsys.readouterr().out)

    return checked


Check = Callable[..., tuple[int, Any]]


def test_it_counts_and_hashes_as_data_verify_does(built: tuple[Path, Manifest], check: Check) -> None:
    path, manifest = built
    status, found = check(path, "--rows", 20, "--row-tokens", 32, "--rows-sha256", manifest.rows_sha256)
    assert (status, found["ok"], found["problems"]) == (0, True, [])
    verified = verify(path).document()
    for key in ("rows", "row_tokens", "rows_sha256", "parquet_sha256", "parquet_bytes", "padding_tokens"):
        assert found[key] == verified[key]
    assert found["supervised_tokens"] == manifest.supervised_tokens


def edited(change: Callable[[dict[str, Any]], None], row: int = 7) -> Callable[[Path], None]:
    def edit(path: Path) -> None:
        table = pq.read_table(path)
        rows = table.to_pylist()
        change(rows[row]["metadata"])
        pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), path)

    return edit


def change(key: str, value: Callable[[bytes], Any]) -> Callable[[dict[str, Any]], None]:
    return lambda metadata: metadata.update({key: value(metadata[key])})


DAMAGE: dict[str, Callable[[Path], Any]] = {
    "cut off": lambda path: path.write_bytes(path.read_bytes()[:-20]),
    "zeros inside": lambda path: path.write_bytes(path.read_bytes()[:200] + bytes(300) + path.read_bytes()[500:]),
    "one more byte": lambda path: path.write_bytes(path.read_bytes() + b"\0"),
    "empty": lambda path: path.write_bytes(b""),
    "a token": edited(change("tokens", lambda tokens: b"\1\0\0\0" + tokens[4:])),
    "a mask": edited(change("loss_mask", lambda mask: bytes([1 - mask[0]]) + mask[1:])),
    "a mask of 2": edited(change("loss_mask", lambda mask: b"\2" + mask[1:])),
    "no target": edited(change("loss_mask", lambda mask: b"\1" + bytes(31))),
    "no mask": edited(change("loss_mask", lambda mask: None)),
    "a shorter row": edited(lambda m: m.update(tokens=m["tokens"][:-4], loss_mask=m["loss_mask"][:-1])),
    "an odd length": edited(change("tokens", lambda tokens: tokens[:-1])),
    "outside the vocabulary": edited(change("tokens", lambda tokens: (248_077).to_bytes(4, "little") + tokens[4:])),
    "padding": edited(lambda m: m.update(tokens=m["tokens"][:-4] + (248_044).to_bytes(4, "little"),
                                         loss_mask=m["loss_mask"][:-1] + b"\0")),
    "other columns": lambda path: pq.write_table(pa.table({"messages": ["x"]}), path),
    "no rows": lambda path: pq.write_table(pq.read_table(path).slice(0, 0), path),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_seen_by_both(name: str, built: tuple[Path, Manifest], check: Check) -> None:
    path, _ = built
    DAMAGE[name](path)
    status, found = check(path)
    assert (status, found["ok"]) == (1, False)
    assert found["problems"]
    assert not verify(path).ok


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--rows", 21], "rows is 20, and asked for is 21"),
        (["--row-tokens", 33], "row_tokens is 32, and asked for is 33"),
        (["--rows-sha256", "a" * 64], "asked for is aaaa"),
        (["--parquet-sha256", "b" * 64], "asked for is bbbb"),
        (["--bytes-only", "--parquet-sha256", "b" * 64], "asked for is bbbb"),
    ],
)
def test_other_rows_than_asked_for_are_refused(
    built: tuple[Path, Manifest], check: Check, words: list[object], says: str
) -> None:
    status, found = check(built[0], *words)
    assert status == 1
    assert says in "; ".join(found["problems"])


def test_without_a_manifest_a_hash_must_be_given(built: tuple[Path, Manifest], check: Check) -> None:
    path, manifest = built
    manifest_path(path).unlink()
    status, found = check(path)
    assert status == 1
    assert "nobody can say" in found["problems"][0]
    assert check(path, "--rows-sha256", manifest.rows_sha256)[0] == 0
    assert check(path, "--bytes-only", "--parquet-sha256", manifest.parquet_sha256)[0] == 0
    manifest_path(path).write_text("[", encoding="utf-8")
    assert check(path, "--rows-sha256", manifest.rows_sha256)[0] == 1


def test_missing_rows_end_with_2_and_a_line(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(tmp_path / "none.parquet")], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (2, "")
    assert done.stdout.endswith("none.parquet: NOT OK: " + f"{tmp_path}/none.parquet: No such file or directory\n")


def test_it_imports_the_standard_library_and_pyarrow_alone() -> None:
    tree = ast.parse(SCRIPT.read_text(encoding="utf-8"))
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    others = {name.partition(".")[0] for name in names} - sys.stdlib_module_names
    assert others == {"pyarrow"}
