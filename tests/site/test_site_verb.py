"""`openrecipes site`: builds, serves on this machine alone, publishes steps; and says no in plain words."""

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from called import Called, openrecipes

ROOT = Path(__file__).parent.parent.parent


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "openrecipes", "site", *words]


def site(*words: str, folder: Path = ROOT) -> Called:
    return openrecipes("site", *words, folder=folder)


def test_a_build_says_what_it_wrote_and_repeats_itself(tmp_path: Path) -> None:
    done = site("build", "-o", str(tmp_path / "public"), "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["recipes"] >= 13
    assert document["boards"] >= 2
    assert document["problems"] == []
    files = {path: path.read_bytes() for path in (tmp_path / "public").rglob("*") if path.is_file()}
    assert len(files) == document["files"] + 1  # the list of files
    assert site("build", "-o", str(tmp_path / "public")).returncode == 0
    assert {path: path.read_bytes() for path in (tmp_path / "public").rglob("*") if path.is_file()} == files


def test_a_folder_of_somebody_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    done = site("build", "-o", str(tmp_path))
    assert done.returncode == 2
    assert "holds notes.txt, which no site build wrote" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize(
    "address", ["example.org", "javascript:x", "https://e.org/?a=b", "https://e. org", "https://["]
)
@pytest.mark.parametrize("option", ["--base-url", "--repository"])
def test_an_address_that_is_none_is_wrong_usage(tmp_path: Path, option: str, address: str) -> None:
    from openrecipes.cli.site_options import http_address
    from openrecipes.problems import UsageError

    with pytest.raises(UsageError, match="is not the address of a site"):
        http_address(option, address)
    assert http_address(option, "https://e.org/x/") == "https://e.org/x"


def test_a_bad_recipe_is_told_and_the_others_are_built(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "recipes/qwen3.5-397b-a17b/h200", tmp_path / "recipes/qwen3.5-397b-a17b/h200")
    (tmp_path / "recipes/qwen3.5-397b-a17b/h200/bad.yaml").write_text("model: [")
    done = site("build", "-o", "public", folder=tmp_path)
    assert done.returncode == 0
    assert "bad.yaml" in done.stderr
    assert "3 recipes, 3 ranked, 1 boards" in done.stdout
    assert not list((tmp_path / "public").rglob("bad.*"))


def test_steps_of_another_run_are_refused() -> None:
    log = "tests/data/runs/qwen3.5-moe-small-tp1.log.gz"
    done = site("steps", "qwen3.5-moe-small/h200/openrecipes-tp2-ep2", log)
    assert done.returncode == 1
    assert "[steps-log]" in done.stderr


def test_a_site_is_served_on_this_machine_until_ctrl_c() -> None:
    call, pipe = command("serve", "--port", "0", "--json"), subprocess.PIPE
    with subprocess.Popen(call, stdout=pipe, stderr=pipe, text=True, cwd=ROOT) as served:
        assert served.stdout is not None
        assert served.stderr is not None
        address = served.stderr.readline().split()[1]
        assert json.loads("".join(served.stdout.readline() for _ in range(3))) == {"address": address}
        assert address.startswith("http://127.0.0.1:")
        try:
            with urlopen(address) as answer:
                assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
                assert b"Qwen3.5-397B-A17B" in answer.read()
            name = "recipes/qwen3.5-397b-a17b/h200/attune-tp2-pp4-ep32.yaml"
            with urlopen(address + name) as answer:
                assert answer.read() == (ROOT / name).read_bytes()
            with urlopen(Request(address + "index.json", method="HEAD")) as answer:
                assert (answer.headers["Content-Type"], answer.read()) == ("application/json", b"")
            for path in ("nothing.html", "../pyproject.toml", "%2e%2e/pyproject.toml", "boards/", "%00"):
                with pytest.raises(HTTPError) as refused:
                    urlopen(address + path)
                assert refused.value.code == 404
                refused.value.close()
        finally:
            served.send_signal(signal.SIGINT)
        assert served.wait(20) == 130


def test_a_folder_is_served_only_if_it_is_a_site(tmp_path: Path) -> None:
    done = site("serve", str(tmp_path))
    assert done.returncode == 2
    assert "holds no index.html" in done.stderr
