"""A verb as a process of its own: the tests that call it within theirs stand for what users run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from called import ROOT, openrecipes

RECIPE = "qwen3.5-397b-a17b/h200/attune-tp2-pp4-ep32"
LOG = "tests/data/logs/h200/ok-moe-ep2.log.gz"


@pytest.mark.parametrize(
    "words",
    [
        ("rank", "--gpu", "H200"),
        ("render", RECIPE),
        ("plan", RECIPE, "--json"),
        ("diagnose", LOG),
        ("score", "--gpus", "2", "--global-batch", "8", "--row-tokens", "1024", LOG),
        ("compare", RECIPE, RECIPE),
        ("site", "steps", RECIPE, LOG),
        ("check", "no-such-recipe", "--json"),
    ],
    ids=" ".join,
)
def test_it_prints_and_ends_as_when_called_in_this_process(words: tuple[str, ...]) -> None:
    here = openrecipes(*words)
    done = subprocess.run(
        [sys.executable, "-m", "openrecipes", *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, "NO_COLOR": "1", "COLUMNS": "80", "PYTHONIOENCODING": "utf-8"},
    )
    assert (done.returncode, done.stdout, done.stderr) == (here.returncode, here.stdout, here.stderr)
    assert done.stdout + done.stderr


def test_the_console_script_and_the_module_are_one() -> None:
    script = Path(sys.executable).with_name("openrecipes")
    done = subprocess.run([script, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == openrecipes("--version").stdout
    assert done.stdout.startswith("openrecipes ")


@pytest.mark.parametrize(
    "words",
    [("rank",), ("rank", "--json"), ("--version",), ("--help",), ("check", "no-such-recipe", "--json")],
    ids=" ".join,
)
def test_a_full_disk_under_the_output_is_told_as_such(words: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "openrecipes", *words],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            cwd=ROOT,
        )
    assert done.returncode == 3
    assert "cannot write: No space left on device" in done.stderr
    assert "bug" not in done.stderr
    assert "Exception ignored" not in done.stderr


def test_a_closed_output_and_a_reader_gone_are_no_bugs() -> None:
    script = f"{sys.executable} -m openrecipes"
    closed = subprocess.run(
        ["bash", "-c", f"{script} rank >&- && {script} --version | true"],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert (closed.returncode, closed.stdout, closed.stderr) == (0, "", "")
