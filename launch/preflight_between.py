"""What must hold between the nodes of a run, once its Ray is up: clocks, routes, collectives.

    python preflight_between.py FOLDER --most-skew 1 [--address auto] [--load --gpus 8 --group 32] [--within 300]

FOLDER holds one report of preflight.py a node; what is found here is added to the report of the node that it is
about, and preflight_verdict.py judges all of it. It imports ray.
"""

import argparse
import json
import re
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from preflight_asking import check

# Of a node's RDMA line rate. Two p5.48xlarge reach 437 of 400 GB/s at 1 GiB, part of it within the nodes.
BUS_SHARE = 0.7
PROGRAMS = ("preflight_load.py", "preflight_gpus.py", "preflight_asking.py")


def look() -> dict[str, Any]:
    """A node's name and clock: runs in a Ray worker, so it holds all it needs."""
    import socket  # noqa: PLC0415
    import time  # noqa: PLC0415

    return {"host": socket.gethostname(), "unix_s": time.time()}


def reach(addresses: list[tuple[str, int]], timeout_s: float) -> list[str]:
    """Those of the addresses that do not answer from here."""
    import socket  # noqa: PLC0415

    lost = []
    for host, port in addresses:
        try:
            socket.create_connection((host, port), timeout_s).close()
        except OSError as error:
            lost.append(f"{host}:{port} ({error})")
    return lost


def free_port() -> int:
    """A port that nothing listens on."""
    import socket  # noqa: PLC0415

    with socket.socket() as probe:
        probe.bind(("", 0))
        return int(probe.getsockname()[1])


def load(files: dict[str, str], words: list[str], limit_s: float) -> dict[str, Any]:
    """What the load of one node printed; how it failed, where it printed nothing. The programs come along."""
    import json  # noqa: PLC0415
    import pathlib  # noqa: PLC0415
    import subprocess  # noqa: PLC0415
    import sys  # noqa: PLC0415
    import tempfile  # noqa: PLC0415

    why = ""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            pathlib.Path(folder, name).write_text(text, encoding="utf-8")
        command = [sys.executable, "-B", f"{folder}/preflight_load.py", *words]
        try:
            ran = subprocess.run(command, capture_output=True, text=True, timeout=limit_s, check=False)
            why = ran.stderr[-300:]
            return dict(json.loads(ran.stdout))
        except subprocess.TimeoutExpired:
            why = f"not done after {limit_s:g} s"
        except ValueError:
            pass
    return {"checks": [{"name": "gpu-load", "status": "fail", "value": None, "why": why}], "measured": []}


class Nodes:
    """The live nodes of a Ray cluster, in the order of their addresses."""

    def __init__(self, ray: Any, within_s: float) -> None:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy  # noqa: PLC0415

        self.ray, self.within_s, self._on = ray, within_s, NodeAffinitySchedulingStrategy
        alive = [node for node in ray.nodes() if node["Alive"]]
        self.all = sorted(
            alive, key=lambda n: [int(p) if p.isdigit() else 0 for p in n["NodeManagerAddress"].split(".")]
        )

    def ask(self, work: Any, node: dict[str, Any], *words: Any, gpus: float = 0) -> Any:
        """The answer to come of a function on one node."""
        where = self._on(node["NodeID"], soft=False)
        task = self.ray.remote(work).options(num_cpus=0, num_gpus=gpus, scheduling_strategy=where, max_retries=0)
        return task.remote(*words)

    def answers(self, asked: list[Any], within_s: float | None = None) -> list[Any]:
        """The answers. Raises: an exception of Ray's, if one does not come."""
        return list(self.ray.get(asked, timeout=within_s or self.within_s))


def clock_checks(nodes: Nodes, most_skew_s: float) -> list[tuple[str, dict[str, Any]]]:
    """Each node's host, and how far its clock is from that of most nodes; half the round trip is the error."""
    nodes.answers([nodes.ask(look, node) for node in nodes.all])  # starts the workers, which takes its time
    offsets, hosts = [], []
    for node in nodes.all:
        before = time.time()
        (answer,) = nodes.answers([nodes.ask(look, node)])
        after = time.time()
        hosts.append(answer["host"])
        offsets.append((answer["unix_s"] - (before + after) / 2, (after - before) / 2))
    middle = statistics.median(offset for offset, _ in offsets)
    found = []
    for host, (offset, error) in zip(hosts, offsets, strict=True):
        skew = offset - middle
        wrong = [f"{skew:+.2f} s from the other nodes"] if abs(skew) - error > most_skew_s else []
        found.append((host, check("clock-skew", {"seconds": round(skew, 4), "error_s": round(error, 4)}, wrong)))
    return found


def reach_checks(nodes: Nodes, hosts: list[str]) -> list[tuple[str, dict[str, Any]]]:
    """Whether every node gets through to each other one's Ray."""
    addresses = [(node["NodeManagerAddress"], node["NodeManagerPort"]) for node in nodes.all]
    asked = [
        nodes.ask(reach, node, [a for a in addresses if a != own], 5.0)
        for node, own in zip(nodes.all, addresses, strict=True)
    ]
    lost = nodes.answers(asked)
    value = len(addresses) - 1
    return [
        (host, check("reach-nodes", value - len(gone), [f"{', '.join(gone[:5])} not reached"] if gone else []))
        for host, gone in zip(hosts, lost, strict=True)
    ]


def load_checks(nodes: Nodes, hosts: list[str], args: argparse.Namespace) -> list[tuple[str, dict[str, Any]]]:
    """All-reduce over all nodes and alltoall within groups; where that is slow, pairs of nodes tell which it is."""
    measured, failed = together(nodes, list(range(len(hosts))), args)
    if failed:
        return [(hosts[index], check("all-reduce", None, [why])) for index, why in failed]
    rates = {int(size): rate for size, rate in measured["all_reduce_gb_s"].items()}
    rate, least = rates[max(rates)], args.bus_gb or BUS_SHARE * line_gb(args.folder)
    wrong = [f"{rate:.1f} GB/s for {max(rates)} bytes over {len(hosts)} nodes, not {least:g}"] if rate < least else []
    found = [(hosts[0], check("all-reduce", {str(s): round(r, 2) for s, r in rates.items()}, wrong))]
    found += alltoall_checks(measured, hosts, args.gpus)
    return found + (pair_checks(nodes, hosts, args) if wrong and len(hosts) > 2 else [])


def line_gb(folder: Path) -> float:
    """GB/s of a node's RDMA devices together, by the slowest node's report; 0 where none says."""
    found = []
    for _, document in reports(folder).values():
        checks = {one["name"]: one for one in document["checks"]}
        rates = checks.get("fabric-rates", {}).get("value") or []
        each = [re.match(r"([0-9.]+) Gb/sec", rate) for rate in rates]
        if each and all(each):
            slowest = min(float(rate[1]) for rate in each if rate)
            found.append(slowest / 8 * (checks["fabric-devices"]["value"] or 0))
    return min(found, default=0.0)


def alltoall_checks(measured: dict[str, Any], hosts: list[str], gpus: int) -> list[tuple[str, dict[str, Any]]]:
    """Groups of ranks that take more than twice as long as most."""
    times, members = measured["alltoall_seconds"], measured["alltoall_group"]
    found = []
    for index, seconds in enumerate(times):
        on = hosts[index * members // gpus : -(-(index + 1) * members // gpus)]
        slow = seconds > 2 * statistics.median(times)
        middle = statistics.median(times)
        why = [f"{seconds * 1e3:.1f} ms over {', '.join(on)}, where most groups take {middle * 1e3:.1f} ms"]
        found.append((on[0], check(f"alltoall {index}", round(seconds, 6), why if slow else [])))
    return found


def pair_checks(nodes: Nodes, hosts: list[str], args: argparse.Namespace) -> list[tuple[str, dict[str, Any]]]:
    """Each node with its two neighbours: one that is slow with both is named."""
    count, best = len(hosts), [0.0] * len(hosts)
    for first in range(count):
        other = (first + 1) % count
        measured, failed = together(nodes, [first, other], args)
        rates = {int(size): rate for size, rate in measured["all_reduce_gb_s"].items()} if not failed else {0: 0.0}
        for index in (first, other):
            best[index] = max(best[index], rates[max(rates)])
    middle = statistics.median(best)
    return [
        (
            host,
            check(
                "all-reduce-pair",
                round(rate, 2),
                [f"{rate:.1f} GB/s at best, most nodes have {middle:.1f}"] if rate < 0.85 * middle else [],
            ),
        )
        for host, rate in zip(hosts, best, strict=True)
    ]


def together(nodes: Nodes, chosen: list[int], args: argparse.Namespace) -> tuple[dict[str, Any], list[tuple[int, str]]]:
    """What the first rank measured over the chosen nodes; else why not, node by node."""
    first = nodes.all[chosen[0]]
    (port,) = nodes.answers([nodes.ask(free_port, first)])
    common = [
        "--nodes",
        str(len(chosen)),
        "--gpus",
        str(args.gpus),
        "--master",
        f"{first['NodeManagerAddress']}:{port}",
    ]
    common += [
        "--no-matmul",
        "--group",
        str(args.group),
        "--alltoall-bytes",
        str(args.alltoall_bytes),
        *args.load_option,
    ]
    files = {name: Path(__file__).with_name(name).read_text(encoding="utf-8") for name in PROGRAMS}
    asked = [
        nodes.ask(
            load,
            nodes.all[index],
            files,
            [*common, "--node", str(place)],
            args.within,
            gpus=args.node_gpus,
        )
        for place, index in enumerate(chosen)
    ]
    answers = nodes.answers(asked, args.within + 60)
    failed = [
        (index, c["why"])
        for index, a in zip(chosen, answers, strict=True)
        for c in a["checks"]
        if c["status"] == "fail"
    ]
    measured = next((m for a in answers for m in a["measured"] if m["rank"] == 0), None)
    if measured is None and not failed:
        failed = [(chosen[0], "the first rank gave no answer")]
    return measured or {}, failed


def reports(folder: Path) -> dict[str, tuple[Path, dict[str, Any]]]:
    """Each node's report with its file, by host; those that cannot be read are the verdict's to name."""
    found = {}
    for path in sorted(folder.glob("[!.]*.json")):
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
            document["ok"] = all(one["status"] != "fail" for one in document["checks"])
            found[str(document["host"])] = (path, document)
        except (ValueError, KeyError, TypeError):
            continue
    return found


def add(folder: Path, found: list[tuple[str, dict[str, Any]]]) -> None:
    """Adds checks to the reports of their nodes; a node without one is missing, and the verdict says so."""
    there = reports(folder)
    for host, one in found:
        if host in there:
            there[host][1]["checks"].append(one)
    for path, document in there.values():
        document["ok"] = all(one["status"] != "fail" for one in document["checks"])
        path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def main() -> int:
    """Asks, and adds what it hears to the reports."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--address", default="auto")
    parser.add_argument("--most-skew", type=float, required=True, help="most that a clock may differ, seconds")
    parser.add_argument("--load", action="store_true", help="measure collectives too")
    parser.add_argument("--gpus", type=int, default=1, help="ranks of a node")
    parser.add_argument("--node-gpus", type=float, default=None, help="GPUs that Ray holds meanwhile (default: --gpus)")
    parser.add_argument("--group", type=int, default=0, help="ranks of an alltoall")
    parser.add_argument("--alltoall-bytes", type=int, default=2**28, help="bytes that a rank sends")
    parser.add_argument(
        "--bus-gb",
        type=float,
        default=0.0,
        help="least all-reduce bandwidth over all nodes, GB/s (default: 0.7 of the RDMA line rate)",
    )
    parser.add_argument(
        "--load-option", action="append", default=[], help="option of preflight_load.py; may be repeated"
    )
    parser.add_argument("--within", type=float, default=300.0, help="longest wait for an answer, seconds")
    args = parser.parse_args()
    args.node_gpus = args.gpus if args.node_gpus is None else args.node_gpus
    import ray  # noqa: PLC0415  (--help works without it)

    hosts: list[str] = []
    try:
        ray.init(address=args.address, log_to_driver=False, logging_level="ERROR")
        nodes = Nodes(ray, args.within)
        clocks = clock_checks(nodes, args.most_skew)
        hosts = [host for host, _ in clocks]
        add(args.folder, clocks + reach_checks(nodes, hosts))
        # Where a node has failed already, measuring the network would only take time.
        if args.load and len(hosts) > 1 and all(document["ok"] for _, document in reports(args.folder).values()):
            add(args.folder, load_checks(nodes, hosts, args))
    except Exception as error:  # whatever it is of Ray's: nodes that give no answer must not train
        failed = check("nodes-answer", None, [f"{type(error).__name__}: {str(error)[:300]}"])
        add(args.folder, [(host, failed) for host in reports(args.folder)])
    return 0


if __name__ == "__main__":
    sys.exit(main())
