"""Commands inside the loopback cluster of loopback_cluster.py, and launches on it."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import fake_trainer
import slime_stand_in
import yaml
from smoke_recipe import write_smoke_recipe

from openrecipes.runs.directory import RunDirectory, open_run_directory

ROOT = Path(__file__).resolve().parent.parent
NODES = 4
TOOLS = ("unshare", "nsenter", "slurmctld", "slurmd", "munged", "sbatch", "sshd", "ip")
PUBLISHED = ROOT / "recipes" / "qwen3.5-397b-a17b" / "h200" / "attune-tp2-pp4-ep32.yaml"
# What a job may see of the caller's environment comes from here, and nothing else does.
BASE_ENV = {"HOME": os.environ.get("HOME", "/root"), "USER": "root", "LANG": "C.UTF-8"}


def settings(nodes: int, **env: str) -> list[str]:
    """The published recipe on so many nodes of two GPUs each, eight steps."""
    wanted = {
        "gpu.count": 2 * nodes, "gpu.per_node": 2, "layout.tp": 1, "layout.pp": 1, "layout.ep": 2,
        "result.steps_per_run": 8, **{f"env.{name}": value for name, value in env.items()},
    }  # fmt: skip
    return [word for key, value in wanted.items() for word in ("--set", f"{key}={value}")]


def child_of(pid: int) -> int:
    """The one child of a process: what nsenter or unshare runs."""
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()[0])


class Loopback:
    """The running cluster."""

    def __init__(self, folder: Path, process: "subprocess.Popen[bytes]") -> None:
        self.folder = folder
        self.process = process
        self._init = str(child_of(process.pid))

    def enter(self, cwd: Path) -> list[str]:
        """Words in front of a command that runs inside."""
        return ["nsenter", "--target", self._init, "--net", "--mount", "--pid", f"--wdns={cwd}", "--"]

    def env(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        """The environment of a person who calls from a login node."""
        path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
        ours = {"PATH": path, "PYTHONPATH": str(ROOT), "SLURM_CONF": str(self.folder / "slurm.conf")}
        return {**BASE_ENV, **ours, **(more or {})}

    def run(self, *words: str, cwd: Path = Path("/"), env: Mapping[str, str] | None = None,
            timeout: float = 300) -> subprocess.CompletedProcess[str]:  # fmt: skip
        """A finished command."""
        command = [*self.enter(cwd), *words]
        return subprocess.run(
            command, capture_output=True, text=True, check=False, env=self.env(env), timeout=timeout
        )  # fmt: skip

    def start(self, *words: str, cwd: Path, env: Mapping[str, str] | None = None) -> "subprocess.Popen[str]":
        """A command that goes on, in a session of its own."""
        return subprocess.Popen(
            [*self.enter(cwd), *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.env(env),
            start_new_session=True,
        )

    def processes(self, *words: str) -> list[str]:
        """Command lines inside that hold one of the words."""
        listed = self.run("ps", "-eo", "args").stdout.splitlines()
        return [line for line in listed if any(word in line for word in words) and "ps -eo" not in line]

    def queue(self) -> list[str]:
        """Ids of the jobs that Slurm still holds."""
        return self.run("squeue", "-h", "-o", "%i").stdout.split()


class Site:
    """A folder to launch from: a profile, and what the trainers need."""

    def __init__(self, cluster: Loopback, folder: Path) -> None:
        self.cluster = cluster
        self.folder = folder
        slime_stand_in.install(folder)
        self.python = sys.executable

    def profile(self, target: str = "slurm", **more: Any) -> Path:
        """A profile of the loopback cluster in a file."""
        paths = {"hf_checkpoint": "hf", "torch_dist": "dist", "slime": "slime", "megatron": "megatron"}
        said: dict[str, Any] = {
            "schema_version": 1,
            "name": "loopback",
            "target": target,
            "python": self.python,
            "paths": {**{name: str(self.folder / f) for name, f in paths.items()}, "sft_data": "/on/the/nodes.parquet"},
            "preflight": "off",
            "ray": {"folder": "/tmp/ray", "object_store_gib": 0.08},
            "join_seconds": 300,
        }
        if target == "ssh":
            hosts = [f"n{i}" for i in range(1, NODES + 1)]
            config = str(self.cluster.folder / "ssh" / "config")
            said["ssh"] = {"hosts": hosts, "config": config, "folder": "/tmp/ray"}
        path = self.folder / f"{target}.yaml"
        path.write_text(yaml.safe_dump({**said, **more}))
        return path

    def smoke(self, **env: str) -> tuple[Path, Path]:
        """A recipe of the smoke trainer, and a Slurm profile whose python plays it."""
        if not (self.folder / "trainer.py").exists():
            self.python = str(fake_trainer.install(self.folder))
        recipe = write_smoke_recipe(self.folder, env={"OMP_NUM_THREADS": "1", **env})
        return recipe, self.profile()

    def words(self, recipe: Path, profile: Path, run: str, *more: str, verb: str = "launch") -> list[str]:
        """The words of a launch into a directory below the folder."""
        call = [sys.executable, "-m", "openrecipes", verb, str(recipe), "--cluster", str(profile)]
        return [*call, "--run-dir", str(self.folder / run), "--yes", "--json", *more]

    def launch(self, recipe: Path, profile: Path, run: str, *more: str,
               env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:  # fmt: skip
        """A launch from its first second to its end."""
        return self.cluster.run(*self.words(recipe, profile, run, *more), cwd=self.folder, env=env)

    def follow(self, verb: str, run: str) -> subprocess.CompletedProcess[str]:
        """`launch --attach` or `--stop`, to its end."""
        words = [sys.executable, "-m", "openrecipes", "launch", verb, str(self.folder / run), "--json"]
        return self.cluster.run(*words, cwd=self.folder)

    def opened(self, run: str) -> RunDirectory:
        """The run directory."""
        return open_run_directory(self.folder / run)


def wait_until(claim: Any, within_s: float = 180.0) -> None:
    """Waits until a claim is true."""
    end = time.monotonic() + within_s
    while not claim():
        assert time.monotonic() < end, "never came true"
        time.sleep(0.05)


def seen(run: RunDirectory) -> dict[str, Any]:
    """What the trainer that stands in wrote down."""
    return dict(json.loads((run.root / "log" / "seen.json").read_text(encoding="utf-8")))


@contextmanager
def loopback(folder: Path, nodes: int = NODES) -> Iterator[Loopback]:
    """The cluster, up; nothing of it is left afterwards."""
    program = [sys.executable, str(ROOT / "tests" / "loopback_cluster.py"), str(folder / "cluster"), str(nodes)]
    (folder / "cluster").mkdir(parents=True)
    with (folder / "cluster.log").open("wb") as log:
        process = subprocess.Popen(
            ["unshare", "-n", "-m", "-p", "-f", "--mount-proc", "--kill-child", *program],
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        end = time.monotonic() + 60
        while not (folder / "cluster" / "ready").exists():
            up = process.poll() is None and time.monotonic() < end
            assert up, (folder / "cluster.log").read_text(encoding="utf-8", errors="replace")
            time.sleep(0.1)
        yield Loopback(folder / "cluster", process)
    finally:
        # The process namespace ends with its first process, and takes all in it along.
        process.send_signal(signal.SIGKILL)
        process.wait()
        shutil.rmtree(folder / "cluster", ignore_errors=True)
