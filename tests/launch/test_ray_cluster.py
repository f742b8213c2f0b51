"""What a launch asks its Ray, with a Ray that plays."""

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

PROGRAM = Path(__file__).resolve().parent.parent.parent / "launch" / "ray_cluster.py"


def node(index: int | None, gpus: int = 2, *, alive: bool = True) -> dict[str, Any]:
    marks = {} if index is None else {f"openrecipes_node_{index}": 1.0}
    address = f"10.0.0.{index}"
    return {"Alive": alive, "Resources": {"GPU": float(gpus), "CPU": 8.0, **marks}, "NodeManagerAddress": address}


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The program; `cluster.there` are the nodes of its Ray, `cluster.answers` what a worker of each would see."""
    spec = importlib.util.spec_from_file_location("ray_cluster", PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    asked = SimpleNamespace(options=lambda **_: asked, remote=lambda *_: None)
    ray = SimpleNamespace(
        is_initialized=lambda: False,
        init=lambda **_: None,
        shutdown=lambda: None,
        nodes=lambda: module.there,
        remote=lambda _: asked,
        get=lambda _asked, timeout: module.answers,
    )
    monkeypatch.setitem(sys.modules, "ray", ray)
    module.there, module.answers = [], []
    return module


def wait(cluster: ModuleType, *there: dict[str, Any]) -> int:
    cluster.there = list(there)
    return int(cluster.wait("head:1", 2, 4, ["n1", "n2"], 0.2))


def test_all_nodes_with_all_gpus_are_complete(cluster: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert wait(cluster, node(0), node(1)) == 0
    assert capsys.readouterr().out == "Ray has 2 of 2 nodes and 4 of 4 GPUs\n"


@pytest.mark.parametrize(
    ("there", "says"),
    [
        ([node(0)], "Ray has 1 of 2 nodes and 2 of 4 GPUs, without n2"),
        ([node(0), node(1, gpus=1)], "Ray has 2 of 2 nodes and 3 of 4 GPUs"),
        ([node(0), node(1, alive=False)], "Ray has 1 of 2 nodes and 2 of 4 GPUs, without n2"),
        ([node(0), node(None)], "Ray has 2 of 2 nodes and 4 of 4 GPUs, without n2"),
    ],
    ids=["missing", "fewer GPUs", "dead", "a stranger"],
)
def test_who_is_missing_is_named_in_time(
    cluster: ModuleType, capsys: pytest.CaptureFixture[str], there: list[dict[str, Any]], says: str
) -> None:
    assert wait(cluster, *there) == 75
    assert capsys.readouterr().out.splitlines()[-1] == f"openrecipes: cause: Ray is not complete after 0.2 s: {says}"


def looked(host: str, machine: str, **variables: str | None) -> dict[str, Any]:
    return {"host": host, "machine": machine, "variables": variables, "report": {"checks": [host]}}


def ask(cluster: ModuleType, folder: Path, *answers: dict[str, Any], address: bool = True) -> int:
    cluster.there, cluster.answers = [node(0), node(1)], list(answers)
    output = folder / "nodes.json"
    args = SimpleNamespace(
        address="head:1", names="n1,n2", within=1, output=output, reports=folder / "r", variable=["A"]
    )
    return int(cluster.nodes(args))


def test_nodes_that_agree_are_written_down_and_their_reports_collected(cluster: ModuleType, tmp_path: Path) -> None:
    assert ask(cluster, tmp_path, looked("h1", "m1", A="1"), looked("h2", "m2", A="1")) == 0
    nodes = json.loads((tmp_path / "nodes.json").read_text())["nodes"]
    assert [(one["name"], one["host"], one["address"]) for one in nodes] == [
        ("n1", "h1", "10.0.0.0"),
        ("n2", "h2", "10.0.0.1"),
    ]
    assert "report" not in nodes[0]
    assert json.loads((tmp_path / "r" / "n2.json").read_text()) == {"checks": ["h2"]}


def test_values_that_differ_between_nodes_are_named(
    cluster: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ask(cluster, tmp_path, looked("h1", "m1", A="1"), looked("h2", "m2", A=None)) == 1
    assert capsys.readouterr().out == "openrecipes: cause: A differs: '1' on n1; unset on n2\n"
    assert (tmp_path / "nodes.json").exists()


def test_two_names_of_one_machine_are_named(
    cluster: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.alive = lambda _ray: [{**node(i), "NodeManagerAddress": "10.0.0.9"} for i in range(2)]
    assert ask(cluster, tmp_path, looked("h1", "m1", A="1"), looked("h1", "m1", A="1")) == 1
    assert capsys.readouterr().out == "openrecipes: cause: n1 and n2 are one machine (10.0.0.9)\n"


def test_a_node_that_gives_no_answer_ends_the_wait(
    cluster: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def never(_asked: object, timeout: float) -> None:
        raise TimeoutError(f"after {timeout} s")

    sys.modules["ray"].get = never
    assert ask(cluster, tmp_path) == 75
    assert "a node gave no answer: TimeoutError: after 1 s" in capsys.readouterr().out
