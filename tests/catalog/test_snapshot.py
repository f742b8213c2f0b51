import json
import os
import stat
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest

from openrecipes.catalog.arguments import ARGUMENT_FOLDER, Argument, ArgumentCatalogue, argument_catalogue
from openrecipes.catalog.snapshot import snapshot, snapshot_text
from openrecipes.problems import OutsideError, UsageError

STACK = "slime-a897e1f4+megatron-1dcf0daf"
COMMITS = ("a897e1f40357fdf3b148f1eb4ce26e1aeccfcd2c", "1dcf0dafa884ad52ffb243625717a3471643e087")
TODAY = date(2026, 11, 30)
# Its default is the environment's WORLD_SIZE.
OF_THE_ENVIRONMENT = {"--inprocess-active-world-size"}
# As the introspection program describes them.
RAW = [
    {"flags": ["--x"], "dest": "x", "action": "_StoreAction", "type": "int", "enum": False, "nargs": "+",
     "choices": [1, 2], "default": [1], "required": True, "help": "An x.", "defined_by": "slime"},
    {"flags": ["--b", "--no-b"], "dest": "b", "action": "BooleanOptionalAction", "type": "bool", "enum": False,
     "nargs": 0, "choices": None, "default": None, "required": False, "help": None, "defined_by": "megatron"},
]  # fmt: skip


def checkouts(folder: Path) -> tuple[Path, Path]:
    for name, part in (("slime", "slime/utils"), ("megatron", "megatron/training")):
        (folder / name / part).mkdir(parents=True)
        (folder / name / part / "arguments.py").write_text("")
    return folder / "slime", folder / "megatron"


def interpreter(folder: Path, body: str) -> str:
    """A program in the place of the trainer's Python."""
    path = folder / "python"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def taken(folder: Path, body: str) -> ArgumentCatalogue:
    slime, megatron = checkouts(folder)
    return snapshot(slime, megatron, python=interpreter(folder, body), commits=COMMITS, today=TODAY)


def compared(argument: Argument) -> dict[str, object]:
    left_out = {"help", "default"} if set(argument.flags) & OF_THE_ENVIRONMENT else {"help"}
    return argument.model_dump(exclude=left_out)


@pytest.mark.slow
@pytest.mark.checkout("SLIME_DIR", "MEGATRON_DIR")
def test_a_snapshot_of_the_pinned_checkouts_is_the_shipped_catalogue() -> None:
    found = snapshot(
        Path(os.environ["SLIME_DIR"]),
        Path(os.environ["MEGATRON_DIR"]),
        python=os.environ.get("SLIME_PYTHON", sys.executable),
        commits=COMMITS,
        today=TODAY,
    )
    shipped = argument_catalogue(STACK)
    assert found.stack_id == STACK
    assert len(found.arguments) == 857
    ours = {argument.flags: compared(argument) for argument in found.arguments}
    assert ours == {argument.flags: compared(argument) for argument in shipped.arguments}
    assert sum(argument.help is not None for argument in found.arguments) > 700


def test_a_dump_becomes_arguments_and_is_read_back(tmp_path: Path) -> None:
    found = taken(tmp_path, f"cat <<'END'\n{json.dumps(RAW)}\nEND")
    assert [argument.flags for argument in found.arguments] == [("--b", "--no-b"), ("--x",)]
    switch, x = found.arguments
    assert (switch.action, switch.value, switch.nargs) == ("boolean_optional", None, None)
    assert (x.value, x.nargs, x.choices, x.default, x.required, x.help) == ("int", "+", (1, 2), [1], True, "An x.")
    assert ArgumentCatalogue.model_validate_json(snapshot_text(found)) == found


def test_the_shipped_file_is_in_the_written_form() -> None:
    text = (ARGUMENT_FOLDER / f"{STACK}.json").read_text()
    assert json.loads(snapshot_text(ArgumentCatalogue.model_validate_json(text))) == json.loads(text)


def test_a_failing_trainer_is_an_outside_error_with_its_last_words(tmp_path: Path) -> None:
    with pytest.raises(OutsideError, match="No module named 'torch'"):
        taken(tmp_path, "echo \"ModuleNotFoundError: No module named 'torch'\" >&2; exit 1")


def test_a_missing_interpreter_and_other_output_are_outside_errors(tmp_path: Path) -> None:
    with pytest.raises(OutsideError, match="something else"):
        taken(tmp_path, "echo hello")
    with pytest.raises(OutsideError, match="could not read the parser"):
        snapshot(tmp_path / "slime", tmp_path / "megatron", python=str(tmp_path / "none"), commits=COMMITS, today=TODAY)


def test_an_argument_of_unknown_kind_is_named(tmp_path: Path) -> None:
    raw = [{**RAW[0], "action": "_AppendAction"}]
    with pytest.raises(OutsideError, match="--x is of a kind"):
        taken(tmp_path, f"cat <<'END'\n{json.dumps(raw)}\nEND")


def test_a_folder_that_is_no_checkout_or_has_no_commit_is_a_usage_error(tmp_path: Path) -> None:
    slime, megatron = checkouts(tmp_path)
    with pytest.raises(UsageError, match=r"has no slime/utils/arguments\.py"):
        snapshot(tmp_path, megatron, python="python3", commits=COMMITS, today=TODAY)
    with pytest.raises(UsageError, match="--slime-commit"):
        snapshot(slime, megatron, python="python3", commits=(None, COMMITS[1]), today=TODAY)


def test_the_commit_of_a_git_checkout_is_read(tmp_path: Path) -> None:
    slime, megatron = checkouts(tmp_path)
    author = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for call in (["init", "-q"], [*author, "commit", "-q", "--allow-empty", "-m", "x"]):
        subprocess.run(["git", "-C", str(slime), *call], check=True)
    found = snapshot(
        slime, megatron, python=interpreter(tmp_path, "echo '[]'"), commits=(None, COMMITS[1]), today=TODAY
    )
    assert found.stack_id == f"slime-{found.slime[:8]}+megatron-1dcf0daf"
