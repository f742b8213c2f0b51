"""A cluster of Kubernetes that plays: `kubectl` stands in, a folder is the volume, `python` what a pod's would be."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from openrecipes.targets import kubernetes_job

STAND_IN = Path(__file__).resolve().parent / "kubectl_stand_in.py"


class PlayedKubernetes:
    """The cluster's folder, its volume, and the programs that a launch calls."""

    def __init__(self, folder: Path, python: str) -> None:
        self.folder, self.kube, self.volume = folder, folder / "kube", folder / "volume"
        self.bin = folder / "bin"
        for path in (self.kube, self.bin, self.volume / "runs", self.volume / "slime"):
            path.mkdir(parents=True)
        _program(self.bin / "kubectl", f"#!/bin/sh\nexec '{sys.executable}' -S '{STAND_IN}' \"$@\"\n")
        _program(folder / "python", python)
        (self.kube / "volume").write_text(str(self.volume), encoding="utf-8")

    @property
    def environment(self) -> dict[str, str]:
        path = os.pathsep.join((str(self.bin), os.environ["PATH"]))
        return {"PATH": path, "HOME": str(self.folder), "KUBE_FOLDER": str(self.kube)}

    def called_from(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        """Until what it yields is over, this process's kubectl is the cluster's, and asked often."""
        monkeypatch.setattr(kubernetes_job, "_ASK_S", 0.2)
        for name, value in self.environment.items():
            monkeypatch.setenv(name, value)
        yield
        # What plays KubeRay ends its job's processes once the job is gone.
        for job in (self.kube / "jobs").glob("*.json"):
            job.unlink()
        until(lambda: not list((self.kube / "pods").glob("*.json")))


def until(claim: Callable[[], object], within_s: float = 30.0) -> None:
    """Waits until the claim is true; fails if it never comes true."""
    end = time.monotonic() + within_s
    while not claim():
        assert time.monotonic() < end, "never came true"
        time.sleep(0.05)


def _program(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
