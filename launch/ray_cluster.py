"""What a launch asks its Ray: whether every node has joined, and whether all have the same environment.

    python ray_cluster.py wait --address IP:PORT --nodes 2 --gpus 16 [--names n1,n2] --within 300
    python ray_cluster.py nodes --address IP:PORT --names n1,n2 --within 300 -o FILE [--reports FOLDER]
        [--variable NAME]...

`wait` ends with 0 once so many nodes are alive with so many GPUs together, and with 75 where they are not in
time, naming who is missing: slime itself waits for missing GPUs without limit. `nodes` asks a Ray worker on each
node what it is and which values the variables have there; it ends with 1 where they differ, or where two names
are one machine. With --reports it also collects what each node's preflight found. It imports ray.
"""

import argparse
import collections
import contextlib
import json
import os
import socket
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

TOO_LATE = 75  # EX_TEMPFAIL: never to be read as success
# Every node carries a resource of this name and its number, so that it can be told by its place in the launch.
MARK = "openrecipes_node_"


def alive(ray: Any) -> list[dict[str, Any]]:
    """The nodes that are alive."""
    return [node for node in ray.nodes() if node["Alive"]]


def index_of(node: dict[str, Any]) -> int | None:
    """The node's place in the launch, or None for a node without our mark."""
    marks = [name.removeprefix(MARK) for name in node["Resources"] if name.startswith(MARK)]
    return int(marks[0]) if marks and marks[0].isdigit() else None


def missing(nodes: list[dict[str, Any]], names: Sequence[str]) -> list[str]:
    """Names of the launch that no live node stands for."""
    there = {index_of(node) for node in nodes}
    return [name for index, name in enumerate(names) if index not in there]


def connect(ray: Any, where: str) -> None:
    """Joins the cluster as a driver, unless it has been joined."""
    if not ray.is_initialized():
        ray.init(address=where, log_to_driver=False, logging_level="ERROR")


def wait(where: str, nodes: int, gpus: int, names: Sequence[str], within_s: float) -> int:
    """0 once the cluster is complete, TOO_LATE where it is not within so many seconds; it says what is there."""
    import ray  # noqa: PLC0415  (--help works without it)

    end, said, gone = time.monotonic() + within_s, "", list(names)
    while time.monotonic() < end:
        try:
            connect(ray, where)
            there = alive(ray)
        except Exception as error:  # whatever it is, Ray is not there yet; the bound is ours
            ray.shutdown()
            line = f"waiting for Ray at {where}: {type(error).__name__}"
        else:
            found, gone = sum(n["Resources"].get("GPU", 0) for n in there), missing(there, names)
            line = f"Ray has {len(there)} of {nodes} nodes and {found:g} of {gpus} GPUs"
            line += f", without {', '.join(gone)}" if gone else ""
            if len(there) == nodes and found >= gpus and not gone:
                print(line, flush=True)
                return 0
        if line != said:
            print(line, flush=True)
            said = line
        time.sleep(min(1.0, max(0.0, end - time.monotonic())))
    print(f"openrecipes: cause: Ray is not complete after {within_s:g} s: {said}", flush=True)
    return TOO_LATE


def look(variables: Sequence[str]) -> dict[str, Any]:
    """What a worker sees of its node: runs in a Ray worker, so it holds all it needs."""
    folder, report = os.environ.get("OPENRECIPES_NODE_DIR", ""), None
    with contextlib.suppress(OSError, ValueError):
        report = json.loads(Path(folder, "preflight.json").read_text(encoding="utf-8"))
    machine = "/proc/sys/kernel/random/boot_id"
    return {
        "host": socket.gethostname(),
        "machine": Path(machine).read_text(encoding="ascii").strip() if Path(machine).exists() else None,
        "variables": {name: os.environ.get(name) for name in variables},
        "report": report,
    }


def looks(where: str, names: Sequence[str], variables: Sequence[str], within_s: float) -> list[dict[str, Any]]:
    """What a worker of each node sees, in the order of names. Raises: Exception of Ray's where one gives no answer."""
    import ray  # noqa: PLC0415

    connect(ray, where)
    address_of = {index_of(node): node["NodeManagerAddress"] for node in alive(ray)}
    asked = ray.remote(look)
    answers = ray.get(
        [asked.options(num_cpus=0, resources={f"{MARK}{i}": 1}).remote(variables) for i in range(len(names))],
        timeout=within_s,
    )
    return [{"name": n, "address": address_of.get(i), **answers[i]} for i, n in enumerate(names)]


def differences(found: Sequence[dict[str, Any]]) -> list[str]:
    """What is not the same on all nodes and must be, and what is the same and must not be."""
    wrong = []
    for name in found[0]["variables"] if found else ():
        values = collections.defaultdict(list)
        for node in found:
            values[node["variables"][name]].append(node["name"])
        if len(values) > 1:
            parts = [f"{'unset' if value is None else repr(value)} on {', '.join(on)}" for value, on in values.items()]
            wrong.append(f"{name} differs: {'; '.join(parts)}")
    hosts = collections.defaultdict(list)
    for node in found:
        hosts[(node["machine"], node["address"])].append(node["name"])
    wrong += [f"{' and '.join(on)} are one machine ({key[1]})" for key, on in hosts.items() if len(on) > 1]
    return wrong


def nodes(args: argparse.Namespace) -> int:
    """Writes what each node is; 1 where they must not run together."""
    names = args.names.split(",")
    try:
        found = looks(args.address, names, args.variable, args.within)
    except Exception as error:
        print(f"openrecipes: cause: a node gave no answer: {type(error).__name__}: {str(error)[:300]}", flush=True)
        return TOO_LATE
    if args.reports is not None:
        args.reports.mkdir(exist_ok=True)
        for node in found:
            if node["report"] is not None:
                (args.reports / f"{node['name']}.json").write_text(json.dumps(node["report"]), encoding="utf-8")
    shown = [{key: value for key, value in node.items() if key != "report"} for node in found]
    args.output.write_text(json.dumps({"schema_version": 1, "nodes": shown}, indent=2) + "\n", encoding="utf-8")
    wrong = differences(found)
    for line in wrong:
        print(f"openrecipes: cause: {line}", flush=True)
    return 1 if wrong else 0


def main() -> int:
    """Does what the first argument says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    waiting, asking = verbs.add_parser("wait"), verbs.add_parser("nodes")
    for one in (waiting, asking):
        one.add_argument("--address", required=True)
        one.add_argument("--names", default="", help="names of the nodes, with commas, the head first")
        one.add_argument("--within", type=float, required=True, help="seconds")
    for name in ("--nodes", "--gpus"):
        waiting.add_argument(name, type=int, required=True)
    asking.add_argument("-o", "--output", type=Path, required=True)
    asking.add_argument("--reports", type=Path, help="folder for the nodes' preflight reports")
    asking.add_argument("--variable", action="append", default=[], help="must be equal; may be repeated")
    args = parser.parse_args()
    if args.verb == "nodes":
        return nodes(args)
    names = [name for name in args.names.split(",") if name]
    return wait(args.address, args.nodes, args.gpus, names, args.within)


if __name__ == "__main__":
    sys.exit(main())
