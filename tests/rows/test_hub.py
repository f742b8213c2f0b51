"""A dataset of the hub: pinned, resumed, cached, and no token anywhere, against a server that stands in for it."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hub_stand_in import COMMIT, DATASET, Hub, served

TOKEN = "hf_secretSecretSecretSecret"


def shard(records: list[dict[str, Any]]) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(records), out, compression="none")
    return out.getvalue()


@pytest.fixture
def hub(chats: Callable[[int], list[dict[str, Any]]]) -> Hub:
    records = chats(900)
    files = {f"data/train-{i:05}-of-00002.parquet": shard(records[i * 450 : i * 450 + 450]) for i in range(2)}
    return Hub(files={"README.md": b"not asked for", **files})


def build(hub: Hub, tmp_path: Path, *words: object, **environment: str) -> subprocess.CompletedProcess[str]:
    out = tmp_path / "rows.parquet"
    size = ("--rows", 20, "--row-tokens", 64, "--seed", 42)
    command = [sys.executable, "-m", "openrecipes", "data", "build", "--source", DATASET, *size, "-o", out, *words]
    known = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "HUGGING"))}
    hub_environment = {"HF_ENDPOINT": hub.url, "HF_HOME": str(tmp_path / "home"), "HF_HUB_DISABLE_XET": "1"}
    return subprocess.run(
        list(map(str, command)),
        capture_output=True,
        text=True,
        check=False,
        env={**known, **hub_environment, **environment},
    )


def test_the_pinned_commit_is_fetched_once_and_no_token_is_kept(hub: Hub, tmp_path: Path) -> None:
    hub.token = TOKEN
    with served(hub):
        done = build(hub, tmp_path, "--revision", COMMIT, "--json", HF_TOKEN=TOKEN)
        assert done.returncode == 0, done.stderr
        manifest = json.loads(done.stdout)
        assert (manifest["source"]["name"], manifest["source"]["revision"]) == (DATASET, COMMIT)
        assert [file["path"] for file in manifest["source"]["files"]] == sorted(set(hub.files) - {"README.md"})
        assert not any("README" in path for path in hub.asked)
        assert hub.tokens == {f"Bearer {TOKEN}"}
        served_once = hub.bytes_served
        again = build(hub, tmp_path, "--revision", COMMIT, "--json", "--force", HF_TOKEN=TOKEN)
        assert json.loads(again.stdout)["rows_sha256"] == manifest["rows_sha256"]
        assert hub.bytes_served - served_once < 5_000  # the list of files, and none of them
    offline = build(hub, tmp_path, "--revision", COMMIT, "--json", "--force", HF_HUB_OFFLINE="1")
    assert json.loads(offline.stdout)["rows_sha256"] == manifest["rows_sha256"]
    said = done.stdout + done.stderr + again.stdout + again.stderr
    assert TOKEN not in said
    assert (done.stderr, again.stderr) == ("", "")
    kept = [path for path in tmp_path.rglob("*") if path.is_file() and TOKEN.encode() in path.read_bytes()]
    assert kept == []


def test_a_branch_is_pinned_to_the_commit_it_is_at(hub: Hub, tmp_path: Path) -> None:
    with served(hub):
        assert json.loads(build(hub, tmp_path, "--json").stdout)["source"]["revision"] == COMMIT


def test_a_broken_download_goes_on_where_it_stopped(
    hub: Hub, tmp_path: Path, chats: Callable[[int], list[dict[str, Any]]]
) -> None:
    # huggingface_hub writes ten mebibytes at a time, and begins again after the last of them.
    size, piece = 11 * 2**20, 10 * 2**20
    records = chats(60)
    hub.files = {"train.parquet": shard([{**record, "padding": os.urandom(size // 60)} for record in records])}
    hub.cuts = [piece + 100]
    with served(hub):
        done = build(hub, tmp_path, "--revision", COMMIT)
    assert done.returncode == 0, done.stderr
    assert hub.ranges == [f"bytes={piece}-"]
    assert hub.bytes_served < len(hub.files["train.parquet"]) + 5_000


@pytest.mark.parametrize(
    ("revision", "token", "says"),
    [
        ("0" * 40, None, f"the hub has no such dataset or no commit {'0' * 40} of it"),
        (COMMIT, "hf_anotherAnotherAnother", "a private or gated dataset needs HF_TOKEN"),
    ],
)
def test_what_is_not_there_or_may_not_be_read_is_wrong_usage(
    hub: Hub, tmp_path: Path, revision: str, token: str | None, says: str
) -> None:
    hub.token = token
    with served(hub):
        done = build(hub, tmp_path, "--revision", revision, HF_TOKEN=TOKEN)
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert TOKEN not in done.stderr


def test_a_dataset_that_is_not_in_the_cache_cannot_be_had_offline(hub: Hub, tmp_path: Path) -> None:
    done = build(hub, tmp_path, "--revision", COMMIT, HF_HUB_OFFLINE="1")
    assert (done.returncode, done.stdout) == (3, "")
    assert "could not be downloaded" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_a_hub_that_cannot_be_reached_is_an_outside_failure(hub: Hub, tmp_path: Path) -> None:
    with served(hub):
        pass
    address = hub.url.replace("http://", "http://user:password@")
    done = build(hub, tmp_path, "--revision", COMMIT, HF_TOKEN=TOKEN, HF_ENDPOINT=address)
    assert (done.returncode, done.stdout) == (3, "")
    assert "could not be downloaded" in done.stderr
    assert "try again" in done.stderr
    assert "it/s" not in done.stderr
    assert "password" not in done.stderr
    assert TOKEN not in done.stderr
