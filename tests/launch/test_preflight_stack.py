"""What a node has installed, each check with a node that fails it."""

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pydantic
import pytest
from preflight_node import Node


def test_installed_versions_are_the_recipes(node: Node) -> None:
    found = node.report("--pin", f"pydantic={pydantic.VERSION}", "--pin", "typer=0.0.1", "--pin", "absent=1")
    states = [found[f"version {name}"]["status"] for name in ("pydantic", "typer", "absent")]
    assert states == ["ok", "fail", "fail"]


def test_python_cuda_and_nccl_are_read_without_being_imported(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    import preflight_stack  # type: ignore[import-not-found]

    assert node.report("--pin", "python=2.7")["version python"]["status"] == "fail"
    assert node.report("--pin", "python=3")["version python"]["status"] == "ok"
    for name in ("torch_cuda", "nccl"):
        monkeypatch.setattr(preflight_stack, name, lambda: None)
    found = node.report("--pin", "cuda=12.9", "--pin", "nccl=2.28.9")
    assert {found["version cuda"]["status"], found["version nccl"]["status"]} == {"fail"}
    assert "version nccl" not in node.report()


def test_the_version_of_torchs_cuda_is_what_its_own_file_says(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    import preflight_stack

    node.write("site/torch/__init__.py", "raise ImportError('is not imported')\n")
    node.write("site/torch/version.py", "__version__ = '2.11.0+cu129'\ncuda: Optional[str] = '12.9'\n")
    monkeypatch.syspath_prepend(str(node.folder / "site"))
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    assert preflight_stack.torch_cuda() == "12.9"


def test_efa_needs_the_plugin_by_which_nccl_speaks_to_it(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    found = node.report()
    assert found["nccl-plugin"]["value"]["version"] == "1.16.3"
    assert found["version libfabric"]["value"] == "2.1.0amzn5.0"
    assert found["efa-driver"]["value"] == "2.13.0g"
    monkeypatch.setenv("LD_LIBRARY_PATH", "")
    assert node.report()["nccl-plugin"]["status"] == "fail"
    assert "nccl-plugin" not in node.report("--fabric", "infiniband")


def test_a_checkout_must_come_from_the_recipes_commit(node: Node) -> None:
    checkout = node.folder / "slime"

    def git(*words: str) -> str:
        own = ["git", "-C", str(checkout), "-c", "user.name=x", "-c", "user.email=x@y", *words]
        return subprocess.run(own, capture_output=True, text=True, check=True).stdout.strip()

    def status(commit: str) -> tuple[str, dict[str, object]]:
        found = node.report("--commit", f"{checkout}={commit}")[f"commit {checkout}"]
        return str(found["status"]), found["value"]

    assert status("a897e1f")[0] == "warn"
    checkout.mkdir()
    git("init", "-q")
    node.write("slime/a.py", "1\n")
    git("add", "-A")
    git("commit", "-q", "-m", "one")
    first = git("rev-parse", "HEAD")
    assert status(first[:7]) == ("ok", {"commit": first, "changes_sha256": None})
    node.write("slime/a.py", "2\n")
    assert status(first[:7])[1]["changes_sha256"] is not None
    git("commit", "-q", "-am", "two")
    assert status(first[:7])[0] == "warn"
    assert status("a897e1f")[0] == "fail"


def test_the_images_contents_have_a_fingerprint(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    before = node.report()["image-contents"]
    assert (before["status"], before) == ("ok", node.report()["image-contents"])
    node.write("site/more-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: more\nVersion: 1.0\n")
    monkeypatch.syspath_prepend(str(node.folder / "site"))
    assert node.report()["image-contents"]["value"]["sha256"] != before["value"]["sha256"]


def test_a_tokenizer_is_there_and_another_one_warns(node: Node, tmp_path: Path) -> None:
    name = f"tokenizer {tmp_path}"
    assert node.report("--tokenizer", str(tmp_path))[name]["status"] == "fail"
    (tmp_path / "tokenizer.json").write_text("{}", encoding="utf-8")
    assert node.report("--tokenizer", str(tmp_path))[name]["status"] == "ok"
    assert node.report("--tokenizer", f"{tmp_path}={'0' * 64}")[name]["status"] == "warn"


def test_rows_are_known_by_their_own_hash_whatever_wrote_the_file(node: Node, tmp_path: Path) -> None:
    from openrecipes.rows.build import BuildSettings, build
    from openrecipes.rows.embedded_tokenizer import EMBEDDED
    from openrecipes.rows.named_source import named_source

    path, copy = tmp_path / "rows.parquet", tmp_path / "copy.parquet"
    settings = BuildSettings(name="rows", tokenizer=EMBEDDED, rows=4, row_tokens=64, seed=1)
    build(named_source("data/fixtures/conversations.jsonl"), settings, path)
    wanted = json.loads((tmp_path / "rows.parquet.manifest.json").read_text(encoding="utf-8"))["rows_sha256"]
    pq.write_table(pq.read_table(path), copy, compression="snappy")
    for file in (path, copy):
        assert node.report("--rows", f"{file}={wanted}")[f"rows {file}"]["status"] == "ok"
    unnamed = node.report("--rows", str(copy))[f"rows {copy}"]  # no manifest lies beside it
    assert (unnamed["status"], unnamed["value"]) == ("warn", wanted)
    manifest = Path(f"{path}.manifest.json")
    for said, status in ((wanted, "ok"), ("0" * 64, "fail")):
        manifest.write_text(json.dumps({"rows_sha256": said}))
        assert node.report("--rows", str(path))[f"rows {path}"]["status"] == status
    assert node.report("--rows", f"{path}={'0' * 64}")[f"rows {path}"]["status"] == "fail"
    half = pa.table({"metadata": [{"tokens": b"1234", "loss_mask": b"\2"}]})
    pq.write_table(half, copy)  # a mask that no trainer should get, whatever its hash
    broken = node.report("--rows", str(copy))[f"rows {copy}"]
    assert (broken["status"], broken["value"], "its mask holds 2" in broken["why"]) == ("fail", None, True)
    pq.write_table(pa.table({"other": [1]}), copy)
    assert node.report("--rows", f"{copy}={wanted}")[f"rows {copy}"]["status"] == "fail"


def test_a_checkpoint_is_sampled_and_its_own_word_is_compared(node: Node, tmp_path: Path) -> None:
    inside = tmp_path / "release"
    inside.mkdir()
    (tmp_path / "latest_checkpointed_iteration.txt").write_text("release", encoding="utf-8")
    for name in (".metadata", "common.pt", "__0_0.distcp", "__0_1.distcp"):
        (inside / name).write_bytes(name.encode())
    name = f"checkpoint {tmp_path}"
    before = node.report("--checkpoint", str(tmp_path))[name]
    (inside / "__0_1.distcp").write_bytes(b"__0_1.distcq")
    after = node.report("--checkpoint", str(tmp_path))[name]
    assert (before["status"], after["status"]) == ("ok", "ok")
    assert before["value"]["sample"] != after["value"]["sample"]
    said = {"model": "Qwen3-32B", "config_sha256": "1" * 64, "weights": "random"}
    (tmp_path / "openrecipes-checkpoint.json").write_text(json.dumps(said), encoding="utf-8")
    assert node.report("--checkpoint", f"{tmp_path}={'1' * 64}")[name]["value"]["weights"] == "random"
    wrong = node.report("--checkpoint", f"{tmp_path}={'2' * 64}")[name]
    assert wrong["status"] == "fail"
    assert "Qwen3-32B of another configuration" in wrong["why"]
    sizes = {f"release/{file}": len(file) for file in (".metadata", "__0_0.distcp", "__0_1.distcp")}
    (tmp_path / "openrecipes-checkpoint-files.json").write_text(json.dumps({"files": sizes}), encoding="utf-8")
    assert node.report("--checkpoint", str(tmp_path))[name]["status"] == "ok"
    (inside / "__0_1.distcp").write_bytes(b"cut")
    cut = node.report("--checkpoint", str(tmp_path))[name]
    assert cut["status"] == "fail"
    assert "1 of the files of" in cut["why"]
    assert "release/__0_1.distcp" in cut["why"]
