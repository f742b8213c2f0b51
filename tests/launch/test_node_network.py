"""Addresses and ports of a node."""

import os
import socket
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).resolve().parent.parent.parent / "launch" / "node_network.py"


def ask(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(PROGRAM), *words], capture_output=True, text=True, check=False)


def test_free_ports_are_different_and_can_be_listened_on() -> None:
    done = ask("ports", "4")
    ports = [int(word) for word in done.stdout.split()]
    assert len(set(ports)) == 4
    for port in ports:
        with socket.socket() as one:
            one.bind(("", port))


def test_a_wanted_port_that_is_free_is_given() -> None:
    with socket.socket() as one:
        one.bind(("", 0))
        port = one.getsockname()[1]
    words = ask("ports", "2", "--wanted", str(port)).stdout.split()
    assert words[0] == str(port)
    assert len(set(words)) == 2


def test_a_port_that_is_taken_is_named_with_whoever_has_it() -> None:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        one.listen()
        port = one.getsockname()[1]
        done = ask("ports", "1", "--wanted", str(port))
    assert (done.returncode, done.stdout) == (2, "")
    said = done.stderr.strip()
    assert said.startswith(
        f"openrecipes: cause: port {port} of {socket.gethostname()} is taken by process {os.getpid()} ("
    )
    assert " of user " in said


def test_an_address_is_the_nodes_own_and_an_interface_that_has_none_is_named() -> None:
    address = ask("address").stdout.strip()
    with socket.socket() as one:
        one.bind((address, 0))
    done = ask("address", "--interface", "no-such0")
    assert (done.returncode, done.stdout) == (2, "")
    assert "interface no-such0 has no IPv4 address" in done.stderr
