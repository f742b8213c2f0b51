"""A trainer that plays what its environment asks for, in place of torchrun and smoke_sft.py."""

import sys
from pathlib import Path

import pytest
from smoke_recipe import smoke_recipe

from openrecipes.catalog.models import model
from openrecipes.render.command import command
from openrecipes.runs.directory import RunDirectory, named_run_directory
from openrecipes.targets.local import LocalTarget
from openrecipes.targets.profile import Profile
from openrecipes.targets.submit import write_rendered
from openrecipes.targets.target import Launch, Rendered

TRAINER = """
import json, os, signal, subprocess, sys, time
seen = os.path.join(os.environ["OPENRECIPES_RUN_DIR"], "seen.json")
with open(seen + ".new", "w") as file:
    json.dump({"argv": sys.argv[1:], "env": dict(os.environ), "cwd": os.getcwd(), "pid": os.getpid()}, file)
os.replace(seen + ".new", seen)
play = os.environ.get("PLAY", "steps")
if play == "deaf":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if play in ("orphan", "deaf"):
    deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
    subprocess.Popen([sys.executable, "-c", deaf], start_new_session=True)
if play in ("hang", "deaf"):
    time.sleep(600)
for n in range(int(os.environ.get("STEPS", "14"))):
    print(f"[2026-11-30 10:00:0{n % 10}] model.py:9 - step {n}: {{'train/loss': 1.5, 'train/step': {n}}}")
    print(f"[2026-11-30 10:00:0{n % 10}] x.py:5 - perf {n}: {{'perf/train_wait_time': 0.1, 'perf/train_time': 0.4, "
          f"'perf/step_time': 0.5}}", flush=True)
print("to stderr", file=sys.stderr)
sys.exit(int(os.environ.get("STATUS", "0")))
"""

PYTHON = """#!/bin/bash
case "$1" in
  *capture_environment.py) printf '{}\\n' >"$3" ;;
  -m) exec "@PYTHON@" "@TRAINER@" "$@" ;;
  *) exit 97 ;;
esac
"""


class Stage:
    """A place to launch at, with the trainer that plays."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        trainer = folder / "trainer.py"
        trainer.write_text(TRAINER)
        self.python = folder / "bin of 'ours' $HOME" / "python3"
        self.python.parent.mkdir()
        self.python.write_text(PYTHON.replace("@PYTHON@", sys.executable).replace("@TRAINER@", str(trainer)))
        self.python.chmod(0o755)

    def launch(self, *, allow_shell_env: bool = False, sft_data: str | None = None, **changes: object) -> Launch:
        """A launch of the smoke recipe with top-level blocks changed."""
        recipe = smoke_recipe(**changes)
        found = model(recipe.model)
        return Launch(
            recipe=recipe,
            model=found,
            command=command(recipe, found),
            profile=Profile(python=str(self.python)),
            sft_data=sft_data,
            allow_shell_env=allow_shell_env,
        )

    def placed(self, launch: Launch, name: str = "run's dir") -> tuple[Rendered, RunDirectory]:
        """The launch rendered into a new run directory."""
        rendered = LocalTarget().render(launch)
        run = named_run_directory(self.folder / name)
        write_rendered(rendered, run.rendered)
        return rendered, run


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)
