"""`openrecipes env` as a person calls it."""

import json
import subprocess
import sys

from openrecipes.recipe.model import Stack


def env(*arguments: str) -> subprocess.CompletedProcess[str]:
    call = [sys.executable, "-m", "openrecipes", "env", *arguments]
    return subprocess.run(call, capture_output=True, text=True, check=False)


def test_json_is_the_stack_block_and_the_whole_capture() -> None:
    done = env("--json")
    document = json.loads(done.stdout)
    captured = document.pop("captured")
    assert done.returncode == 0
    assert Stack.model_validate(document).python == sys.version.split()[0]
    assert captured["python"] == document["python"]
    assert captured["variables"] == {}


def test_people_get_a_table() -> None:
    done = env("--timeout", "30")
    assert done.returncode == 0
    assert f"python              {sys.version.split()[0]}" in done.stdout
