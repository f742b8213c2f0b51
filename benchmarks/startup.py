"""How much processor time a verb takes to start, beside what it must import anyway.

Paired: each round runs every command once, so that what else the machine does falls on all alike. `check` of one
recipe against importing its libraries (goal 2x), `--help` against a bare typer application (goal 1.5x).
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
SCRIPT: Final = str(Path(sys.executable).with_name("openrecipes"))
RECIPE: Final = "recipes/qwen3.5-397b-a17b/h200/attune-tp2-pp4-ep32.yaml"
ROUNDS: Final = 15
BARE: Final = "import typer\napp = typer.Typer()\n@app.command()\ndef main(name: str = ''):\n    print(name)\napp()"

COMMANDS: Final = {
    "import pydantic, yaml, typer, rich": [sys.executable, "-c", "import pydantic, yaml, typer, rich"],
    "openrecipes check RECIPE": [SCRIPT, "check", RECIPE],
    "a bare typer application --help": [sys.executable, "-c", BARE, "--help"],
    "openrecipes --help": [SCRIPT, "--help"],
}


def times() -> dict[str, list[float]]:
    """Processor seconds of every command in every round, with a bytecode cache of its own that a first round fills."""
    taken: dict[str, list[float]] = {name: [] for name in COMMANDS}
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": cache, "PYTHONDONTWRITEBYTECODE": ""}
        for round_ in range(ROUNDS + 1):
            for name, command in COMMANDS.items():
                start = _used()
                subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, check=True)
                if round_:
                    taken[name].append(_used() - start)
    return taken


def _used() -> float:
    """Processor seconds of all programs that have ended so far, the system's part included."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Prints the median of each command, and the ratio of each pair."""
    taken = times()
    names = list(COMMANDS)
    for base, ours, goal in ((names[0], names[1], 2.0), (names[2], names[3], 1.5)):
        ratio = statistics.median(b / a for a, b in zip(taken[base], taken[ours], strict=True))
        for name in (base, ours):
            print(f"{name:36} {1000 * statistics.median(taken[name]):6.0f} ms")
        print(f"{'ratio':36} {ratio:6.2f}     (goal {goal})\n")


if __name__ == "__main__":
    main()
