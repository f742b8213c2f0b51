"""The image pins what the published recipes name, and its Dockerfile keeps the rules."""

import importlib.util
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from openrecipes.recipe.read import read_recipe
from openrecipes.shipped import shipped
from openrecipes.stack.block import stack_block
from openrecipes.stack.captured import Captured

IMAGE = shipped("launch", "image")
DOCKERFILE = (IMAGE / "Dockerfile").read_text(encoding="utf-8")
PINS = dict(re.findall(r'^ARG (\w+)="?([^"\n]+)"?$', DOCKERFILE, re.MULTILINE))
PUBLISHED = sorted(shipped("recipes", "qwen3.5-397b-a17b", "h200").glob("attune-*.yaml"))


def _program() -> ModuleType:
    spec = importlib.util.spec_from_file_location("verify_pins", IMAGE / "verify_pins.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_pins_are_the_published_recipes_stack() -> None:
    assert len(PUBLISHED) == 3
    for path in PUBLISHED:
        stack = read_recipe(path).recipe.stack
        assert f"slime {PINS['SLIME_VERSION']}: THUDM/slime {PINS['SLIME_COMMIT'][:7]} " in (stack.framework or "")
        assert f"commit {PINS['MEGATRON_COMMIT'][:8]} " in (stack.megatron_lm or "")
        assert stack.pytorch == f"{PINS['TORCH_VERSION']} (CUDA {PINS['CUDA_VERSION']} build)"
        assert stack.cuda == PINS["CUDA_VERSION"]
        assert (stack.nccl or "").startswith(f"{PINS['NCCL_VERSION']} ")
        assert stack.transformer_engine == PINS["TRANSFORMER_ENGINE_VERSION"]
        assert stack.deepep == PINS["DEEPEP_VERSION"]
        assert stack.python == PINS["PYTHON_VERSION"]


def test_env_in_the_image_shows_the_recipes_stack() -> None:
    """A capture of an image with these pins becomes a stack block that says what the recipes say."""
    loaded = {
        "torch": {
            "version": f"{PINS['TORCH_VERSION']}+cu129",
            "file": None,
            "details": {
                "cuda": PINS["CUDA_VERSION"],
                "hip": None,
                "git": None,
                "cudnn": 91600,
                "nccl": PINS["NCCL_VERSION"],
                "threads": 1,
            },
        },
        "transformer_engine": {"version": PINS["TRANSFORMER_ENGINE_VERSION"], "file": None},
        "deep_ep": {"version": PINS["DEEPEP_VERSION"], "file": None},
    }
    document = _empty_capture() | {
        "loaded": loaded,
        "installed": {"slime": PINS["SLIME_VERSION"]},
        "python": f"{PINS['PYTHON_VERSION']}.3",
        "checkouts": {
            "slime": {"directory": "/root/slime", "commit": PINS["SLIME_COMMIT"], "changed": False},
            "megatron": {"directory": "/root/Megatron-LM", "commit": PINS["MEGATRON_COMMIT"], "changed": True},
        },
    }
    block, stack = stack_block(Captured.of(document)), read_recipe(PUBLISHED[0]).recipe.stack
    assert (block.pytorch, block.cuda) == (stack.pytorch, stack.cuda)
    assert (block.transformer_engine, block.deepep) == (stack.transformer_engine, stack.deepep)
    assert (block.nccl or "nothing") in (stack.nccl or "")
    assert "a897e1f4" in (block.framework or "")
    assert "1dcf0daf" in (block.megatron_lm or "")


def test_every_pin_is_used_and_every_commit_is_whole() -> None:
    assert len(PINS) >= 20
    for name, value in PINS.items():
        assert f"${{{name}}}" in DOCKERFILE.replace(f"ARG {name}=", ""), f"{name} pins nothing"
        if name.endswith("_COMMIT"):
            assert re.fullmatch(r"[0-9a-f]{40}", value), name


def test_nothing_is_taken_at_whatever_version_is_newest() -> None:
    joined = DOCKERFILE.replace("\\\n", " ")
    installs = [part for part in re.split(r"&&|;|\n", joined) if "pip install" in part]
    assert len(installs) == 13
    for install in installs:
        words = shlex.split(install.partition("pip install")[2])
        named = [w for w in words if "==${" in w or "@${" in w]
        from_files = [w for w, before in zip(words[1:], words, strict=False) if before in ("-r", "-e")]
        assert named or from_files, install
        assert all(w.startswith(("slime", "Megatron-LM")) for w in from_files), install


def test_the_base_image_is_the_builders_choice() -> None:
    """No default: a registry's name is a site's matter, and a tag moves."""
    assert re.search(r"^ARG BASE_IMAGE\nFROM \$\{BASE_IMAGE\}$", DOCKERFILE, re.MULTILINE)
    assert re.findall(r"^FROM .*", DOCKERFILE, re.MULTILINE) == ["FROM ${BASE_IMAGE}"]


@pytest.mark.tool("hadolint")
def test_hadolint_finds_nothing() -> None:
    # DL3003: `cd` inside one installer's step. DL3059: a layer each, since compiling one takes an hour.
    program = shutil.which("hadolint") or str(Path(sys.executable).with_name("hadolint"))
    command = [program, "--no-color", "--ignore", "DL3003", "--ignore", "DL3059", "-"]
    ran = subprocess.run(command, input=DOCKERFILE, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (0, "")
    worse = subprocess.run(
        command, input=DOCKERFILE + "RUN cd /tmp && pip install x\n", capture_output=True, text=True, check=False
    )
    assert worse.returncode != 0, "the linter finds nothing wrong with what is wrong"


@pytest.mark.parametrize(
    ("pin", "found", "expected"),
    [
        ("3.12", "3.12.4", True),
        ("2.11.0", "2.11.0+cu129", True),
        ("2.11.0", "2.11.01", False),
        ("2.1", "2.11.0", False),
        ("12.9", "13.0", False),
        ("1.0", "absent", False),
    ],
)
def test_a_pin_holds_for_its_version_alone(pin: str, found: str, expected: bool) -> None:
    assert _program().holds(pin, found) is expected


def test_a_wrong_pin_ends_the_build() -> None:
    def status(*pins: str) -> int:
        command = [sys.executable, str(IMAGE / "verify_pins.py"), *pins]
        return subprocess.run(command, capture_output=True, check=False).returncode

    here = f"python={sys.version_info.major}.{sys.version_info.minor}"
    assert status(here) == 0
    assert status(here, "no-such-distribution=1.0") == 1
    assert status("python=2.7") == 1
    assert status() == 1
    assert status("python") == 1


@pytest.mark.checkout("MEGATRON_DIR")
def test_the_checkout_holds_the_pinned_library() -> None:
    """The published megatron-core version, read from the checkout that the tests are given."""
    import os

    info = Path(os.environ["MEGATRON_DIR"]) / "megatron" / "core" / "package_info.py"
    text = info.read_text(encoding="utf-8")
    version = re.findall(r"^(?:MAJOR|MINOR|PATCH) = (\d+)", text, re.MULTILINE)
    stated = (read_recipe(PUBLISHED[0]).recipe.stack.megatron_lm or "").split("megatron-core ")[1]
    assert stated.startswith(".".join(version))


def _empty_capture() -> dict[str, object]:
    return {
        "schema_version": 1,
        "captured_unix_s": 1.8e9,
        "host": "node",
        "system": {"name": "Linux", "kernel": "Linux 6", "machine": "x86_64"},
        "cpu": {"name": "cpu", "count": 192, "available": 192},
        "memory_bytes": 2**41,
        "python": "3.12.3",
        "gpus": [],
        "driver": None,
        "cuda_driver": None,
        "nvlink_count": 0,
        "fabric": [],
        "installed": {},
        "loaded": {},
        "checkouts": {"slime": None, "megatron": None},
        "variables": {},
        "errors": {},
    }
