"""What a node itself must hold, each with a node that fails it."""

import os
import socket
from pathlib import Path
from types import ModuleType

import pytest
from preflight_node import Node


def test_processors_and_memory_that_are_too_few(node: Node) -> None:
    cores = len(os.sched_getaffinity(0))
    good = node.report("--cpus", str(cores), "--memory-gib", "0.001")
    assert (good["cpu-cores"]["status"], good["memory-free"]["status"]) == ("ok", "ok")
    bad = node.report("--cpus", str(cores + 1), "--memory-gib", "1e6")
    assert (bad["cpu-cores"]["status"], bad["memory-free"]["status"]) == ("fail", "fail")


def test_settings_that_are_compared_between_nodes_are_read(node: Node) -> None:
    found = node.report()
    assert found["transparent-hugepages"]["value"] == "madvise"
    assert found["network"]["value"] == {"interface": "eth7", "mtu": "9001"}
    node.write("proc/net/route", "Iface\tDestination\neth7\t0000000A\t0\n")
    assert node.report()["network"]["status"] == "skipped"


def test_a_range_without_enough_free_ports(node: Node) -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        port = listening.getsockname()[1]
        found = node.report("--port-range", f"{port}-{port}", "--free-ports", "1")
        assert found[f"ports {port}-{port}"]["status"] == "fail"
    after = node.report("--port-range", f"{port}-{port}", "--free-ports", "1")
    assert after[f"ports {port}-{port}"]["status"] == "ok"


def test_a_name_that_does_not_resolve_warns(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    assert node.report()["own-name"]["status"] == "ok"
    monkeypatch.setattr(socket, "gethostname", lambda: "no-such-host.invalid")
    assert node.report()["own-name"]["status"] == "warn"


def test_other_peoples_processes_warn(node: Node, program: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    import preflight_host  # type: ignore[import-not-found]

    class Folder:
        def __init__(self, user: int) -> None:
            self.st_uid = user

        def stat(self) -> "Folder":
            return self

    class Proc:
        users = (0, os.getuid(), 65534)

        def glob(self, _pattern: str) -> list[Folder]:
            return [Folder(user) for user in self.users]

    monkeypatch.setattr(preflight_host, "Path", lambda _path: Proc())
    assert preflight_host.other_users() == ("ok", [], "")
    monkeypatch.setattr(Proc, "users", (0, 4242))
    status, value, why = preflight_host.other_users()
    assert (status, value) == ("warn", [4242])
    assert "4242" in why
    assert "other-users" in node.report()


def test_a_clock_that_nothing_keeps_right_warns(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    import preflight_host

    def kernel(status: int, answer: int = 0) -> object:
        def adjtimex(state: object) -> int:
            preflight_host.struct.pack_into("=qqi", state, 24, 250_000, 1_000, status)
            return answer

        return type("Library", (), {"adjtimex": staticmethod(adjtimex)})()

    monkeypatch.setattr(preflight_host.ctypes, "CDLL", lambda *_a, **_k: kernel(0))
    assert preflight_host.clock_check()[:2] == ("ok", {"largest_error_s": 0.25, "estimated_error_s": 0.001})
    monkeypatch.setattr(preflight_host.ctypes, "CDLL", lambda *_a, **_k: kernel(0x40))
    assert preflight_host.clock_check()[0] == "warn"
    monkeypatch.setattr(preflight_host.ctypes, "CDLL", lambda *_a, **_k: kernel(0, -1))
    assert preflight_host.clock_check()[0] == "skipped"
    assert node.report()["clock"]["status"] == "skipped"


def test_a_container_of_another_run_is_a_leftover(node: Node) -> None:
    node.put("docker", "#!/bin/sh\necho openrecipes-12-34\necho postgres\n")
    found = node.report()["leftovers"]
    assert found["status"] == "warn"
    assert "container openrecipes-12-34" in found["value"]
    assert "postgres" not in found["why"]


def test_a_disk_that_gives_other_bytes_back_fails(node: Node, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "read_bytes", lambda _path: b"1")
    assert node.report("--disk", f"{tmp_path}=0.001")[f"disk {tmp_path}"]["status"] == "fail"
