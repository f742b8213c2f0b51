"""A healthy node for the preflight to look at."""

import os
import resource
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from preflight_node import Node, loaded_program


@pytest.fixture(scope="module")
def program() -> Iterator[ModuleType]:
    with loaded_program() as module:
        yield module


@pytest.fixture
def node(tmp_path: Path, program: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Node:
    made = Node(tmp_path / "node", program)
    monkeypatch.setenv("PATH", f"{made.bin}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path / "node" / "lib"))
    endless = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    monkeypatch.setattr(resource, "getrlimit", lambda _which: endless)
    return made
