import ast
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from openrecipes.stack import capture
from openrecipes.stack.captured import Captured

SOURCE = Path(capture.__file__)


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Puts a small shell program first on PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    def write(name: str, body: str) -> None:
        (folder / name).write_text(f"#!/bin/sh\n{body}\n")
        (folder / name).chmod(0o755)

    return write


@pytest.fixture
def modules(tmp_path, monkeypatch):
    """Makes small modules that the importing child finds, and asks for those only."""
    folder = tmp_path / "modules"
    folder.mkdir()
    monkeypatch.setenv("PYTHONPATH", str(folder))

    def write(**sources: str) -> None:
        for name, source in sources.items():
            (folder / f"{name}.py").write_text(source)
        monkeypatch.setattr(capture, "MODULES", dict.fromkeys(sources, ()))

    return write


def test_capture_runs_alone_and_its_document_fits_the_model_and_is_readable_by_all(tmp_path):
    out = tmp_path / "environment.json"
    command = [sys.executable, "-I", str(SOURCE), "-o", str(out), "--variable", "PROBE", "--variable", "NOT_SET"]
    subprocess.run(command, check=True, env={**os.environ, "PROBE": "a 'b' $c\n", "SECRET": "hidden"}, timeout=120)
    found = Captured.model_validate_json(out.read_bytes())
    assert found.python == sys.version.split()[0]
    assert found.variables == {"PROBE": "a 'b' $c\n", "NOT_SET": None}
    assert "hidden" not in out.read_text()
    assert json.loads(out.read_text())["schema_version"] == 1
    assert stat.S_IMODE(out.stat().st_mode) & 0o444
    assert list(tmp_path.iterdir()) == [out]


def test_capture_imports_only_the_standard_library():
    nodes = list(ast.walk(ast.parse(SOURCE.read_text())))
    imported = {name.name.split(".")[0] for node in nodes if isinstance(node, ast.Import) for name in node.names}
    imported |= {node.module.split(".")[0] for node in nodes if isinstance(node, ast.ImportFrom)}
    assert imported
    assert imported <= sys.stdlib_module_names


def test_gpus_are_read_from_nvidia_smi(program):
    program(
        "nvidia-smi",
        'case "$1" in\n'
        '  --query*) echo "0, NVIDIA H200, 143771, 580.159.04, 96.00.CF, 700.00, 1980";'
        ' echo "1, NVIDIA H200, 143771, 580.159.04, 96.00.CF, [N/A], 1980";;\n'
        '  topo) printf "GPU0\\t X \\tNV18\\nGPU1\\tNV18\\t X\\n\\nNV#  = bonded set of # NVLinks\\n";;\n'
        '  *) echo "| Driver Version: 580.159.04   CUDA Version: 13.0 |";;\n'
        "esac",
    )
    errors: dict[str, str] = {}
    cards = capture.gpus(errors)
    assert [card["memory_mib"] for card in cards] == [143771, 143771]
    assert [card["power_limit_w"] for card in cards] == [700, None]
    assert capture.nvlink_count() == 2
    assert capture.cuda_driver() == "13.0"
    assert not errors


def test_a_machine_without_nvidia_smi_has_no_gpus_and_no_error(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    errors: dict[str, str] = {}
    assert capture.gpus(errors) == []
    assert capture.nvlink_count() == 0
    assert not errors


def test_a_failing_nvidia_smi_is_an_error_and_not_an_empty_machine(program):
    program("nvidia-smi", "echo 'Driver/library version mismatch' >&2; exit 18")
    errors: dict[str, str] = {}
    assert capture.gpus(errors) == []
    assert "Driver/library version mismatch" in errors["nvidia-smi"]


def test_a_module_that_crashes_or_fails_loses_only_itself(modules):
    modules(
        first='print("noise", end=""); __version__ = "1.0"',
        crashes="import os; os._exit(9)",
        fails="raise RuntimeError('no driver')",
        last='__version__ = "2.0"',
    )
    errors: dict[str, str] = {}
    found = capture.loaded(30, errors)
    assert {name: item and item.get("version") for name, item in found.items()} == {
        "first": "1.0",
        "crashes": None,
        "fails": None,
        "last": "2.0",
    }
    assert "RuntimeError: no driver" in errors["fails"]
    assert "exit status 9" in errors["crashes"]


def test_a_module_that_never_returns_is_ended(modules):
    modules(first='__version__ = "1.0"', hangs="import time; time.sleep(600)", later="")
    errors: dict[str, str] = {}
    found = capture.loaded(1, errors)
    assert found["first"]["version"] == "1.0"
    assert found["hangs"] is None
    assert errors["later"] == "not asked: out of time"


def test_an_absent_module_is_null_without_error(modules, monkeypatch):
    modules()
    monkeypatch.setattr(capture, "MODULES", {"no_such_module_at_all": ()})
    errors: dict[str, str] = {}
    assert capture.loaded(30, errors) == {"no_such_module_at_all": None}
    assert not errors


def test_a_file_in_the_current_folder_does_not_pass_for_a_module(monkeypatch, tmp_path):
    (tmp_path / "made_up_module.py").write_text("__version__ = 'planted'")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(capture, "MODULES", {"made_up_module": ()})
    assert capture.loaded(30, {}) == {"made_up_module": None}


def test_a_checkout_says_its_commit_and_whether_it_was_changed(tmp_path):
    identity = {
        "GIT_CONFIG_GLOBAL": os.devnull,
        **{f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    }

    def git(*words: str) -> None:
        subprocess.run(["git", "-C", tmp_path, *words], check=True, capture_output=True, env={**os.environ, **identity})

    git("init", "-q")
    (tmp_path / "file").write_text("one")
    git("add", "file")
    git("commit", "-q", "-m", "first")
    errors: dict[str, str] = {}
    clean = capture.checkout(str(tmp_path), errors)
    (tmp_path / "file").write_text("two")
    changed = capture.checkout(str(tmp_path), errors)
    assert len(clean["commit"]) == 40
    assert (clean["changed"], changed["changed"]) == (False, True)
    assert not errors


def test_a_folder_that_is_no_checkout_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    errors: dict[str, str] = {}
    assert capture.checkout(str(tmp_path), errors)["commit"] is None
    assert str(tmp_path) in errors


FULL_ROW = "0, NVIDIA H200, 143771, 580.1, 96, 700.00, 1980, 3201, 345, 700.00, Enabled, 0, Disabled, Enabled, 9.0"


def test_a_newer_driver_tells_clocks_ecc_modes_and_nvlinks(program):
    program(
        "nvidia-smi",
        'case "$1" in\n'
        f'  *compute_cap*) echo "{FULL_ROW}";;\n'
        '  nvlink) printf "GPU 0: NVIDIA H200 (UUID: x)\\n\\t Link 0: 26.562 GB/s\\n\\t Link 1: 26.562 GB/s\\n'
        '\\t Link 2: <inactive>\\nGPU 1: NVIDIA H200 (UUID: y)\\n";;\n'
        "esac",
    )
    errors: dict[str, str] = {}
    (card,) = capture.gpus(errors)
    assert errors == {}
    assert (card["ecc_mode"], card["mig_mode"], card["compute_capability"]) == ("Enabled", "Disabled", "9.0")
    assert (card["max_memory_clock_mhz"], card["sm_clock_mhz"], card["ecc_uncorrected"]) == (3201, 345, 0)
    assert (card["nvlinks"], card["nvlink_gb_per_s"]) == (2, 53.124)
    assert capture.nvlinks()[1] == {"nvlinks": 0, "nvlink_gb_per_s": 0}


def test_network_software_is_asked_of_itself(program, tmp_path, monkeypatch):
    program("fi_info", 'printf "fi_info: 2.1.0amzn5.0\\nlibfabric: 2.1.0amzn5.0\\nlibfabric api: 2.1\\n"')
    amazon, plugin = tmp_path / "amazon", tmp_path / "plugin"
    amazon.mkdir()
    plugin.mkdir()
    (amazon / "efa_installed_packages").write_text("# EFA installer version: 1.43.1\n# Debug packages installed: no\n")
    (plugin / "libnccl-net.so").write_bytes(b"\x7fELF\0NET/OFI Initializing aws-ofi-nccl 1.16.2\0\0")
    monkeypatch.setattr(capture, "EFA_FOLDER", str(amazon))
    monkeypatch.setenv("LD_LIBRARY_PATH", f"/nowhere:{plugin}")
    found = capture.network_software()
    assert found["libfabric"] == "2.1.0amzn5.0"
    assert found["efa_installer"] == "1.43.1"
    assert found["aws_ofi_nccl"] == "1.16.2"
    (plugin / "libnccl-net.so").write_bytes(b"")
    assert capture.network_software()["aws_ofi_nccl"] is None


def test_the_loader_asks_the_mapped_library_and_finds_what_it_prints(tmp_path):
    library = tmp_path / "libnccl.so.2"
    source = tmp_path / "nccl.c"
    source.write_text(
        'const char text[] = "NCCL version 2.28.9+cuda12.9";\n'
        "int ncclGetVersion(int *version) { *version = 22809; return text[0] == 'x'; }\n"
    )
    if subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=False).returncode:
        pytest.skip("no C compiler is here")
    probe = capture.LOADER.partition("for name in sys.argv")[0]
    code = f"import ctypes\nctypes.CDLL({str(library)!r})\n{probe}\nprint(nccl_loaded(), nccl_printed(), cuda_loaded())"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["2.28.9", "2.28.9+cuda12.9", "None"]


def test_equal_local_changes_have_equal_hashes_and_none_has_none(tmp_path):
    hashes = []
    for name in ("one", "two", "clean"):
        folder = tmp_path / name
        folder.mkdir()
        git = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@example.com"]
        for words in (["init", "-q"], ["add", "."], ["commit", "-q", "--allow-empty", "-m", "x"]):
            if words[0] == "add":
                (folder / "a.py").write_text("1\n")
            subprocess.run([*git, *words], check=True)
        if name != "clean":
            (folder / "a.py").write_bytes(b"\xff2\n")
        found = capture.checkout(str(folder), {})
        hashes.append((found["changed"], found["diff_sha256"]))
    assert hashes[0] == hashes[1] != hashes[2]
    assert (hashes[0][0], len(hashes[0][1])) == (True, 64)
    assert hashes[2] == (False, None)


def test_the_image_is_what_the_launch_says_it_is(monkeypatch):
    monkeypatch.setattr(capture, "MODULES", {})
    monkeypatch.setenv("APPTAINER_CONTAINER", "/images/a.sif")
    assert capture.captured([], 1)["image"] == "/images/a.sif"
    monkeypatch.setenv("OPENRECIPES_IMAGE", "registry/a@sha256:0")
    assert capture.captured([], 1)["image"] == "registry/a@sha256:0"
