"""Of all that a log holds, only the head's own line says where its Ray is."""

import subprocess

import pytest

from openrecipes.targets.node_script import head_line

OWN = "openrecipes: head 10.0.0.1:6379 /scratch/r.y-1_x/openrecipes-aB3dE6"


def found(log: str) -> list[str]:
    script = head_line("/scratch/r.y-1_x")
    done = subprocess.run(["sed", "-nE", script], input=log, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    "line",
    [
        "openrecipes: head 10.0.0.1:6379 /etc",
        "openrecipes: head 10.0.0.1:6379 /",
        "openrecipes: head 10.0.0.1:6379 /scratch/r.y-1_x/openrecipes-aB3dE6/..",
        "openrecipes: head 10.0.0.1:6379 /scratch/r.y-1_x/openrecipes-aB3dE6 /home",
        "openrecipes: head 10.0.0.1:6379 /scratch/rxy-1_x/openrecipes-aB3dE6",
        "openrecipes: head 10.0.0.1:6379 /scratch/r.y-1_x/openrecipes-aB3d",
        "openrecipes: head 10.0.0.1:6379;reboot /scratch/r.y-1_x/openrecipes-aB3dE6",
        "openrecipes: head $(reboot):6379 /scratch/r.y-1_x/openrecipes-aB3dE6",
        "openrecipes: head evil.example:6379 /scratch/r.y-1_x/openrecipes-aB3dE6",
        "openrecipes: head -oProxyCommand=x:1 /scratch/r.y-1_x/openrecipes-aB3dE6",
        "openrecipes: head",
        f"(Actor pid=7) {OWN}",
    ],
)
def test_no_other_line_is_taken_for_it(line: str) -> None:
    assert found(line + "\n") == []
    assert found(f"{line}\n{OWN}\n") == ["10.0.0.1:6379 /scratch/r.y-1_x/openrecipes-aB3dE6"]
