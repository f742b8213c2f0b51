"""Whether the nodes of a run may start it: every node's preflight, and the nodes against each other.

    python preflight_verdict.py FOLDER --nodes 16 [--within 300] [--blocks] [-o FILE]

FOLDER holds one report of preflight.py a node. Writes {"ok", "nodes", "problems"}; a problem is {"host", "check",
"status", "why"}. Waits so long for reports to come. Ends with 1 where a node is missing, a check fails, or nodes
differ in what must be equal. The standard library and preflight_asking.py beside it, Python 3.10 or newer.
"""

import argparse
import collections
import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from preflight_asking import LEAST_OF_MEDIAN

# Checks whose values must be equal on all nodes, by name or by the word that the name starts with.
EQUAL = (
    "driver", "vbios", "gpu-count", "gpu-model", "nvlink-count", "fabric-devices", "fabric-rates", "efa-driver",
    "nccl-plugin", "environment", "transparent-hugepages", "cpu-cores", "network", "image-contents",
)  # fmt: skip
EQUAL_BEGIN = ("version ", "commit ", "file ", "rows ", "checkpoint ", "tokenizer ")


def reports(folder: Path) -> list[dict[str, Any]]:
    """The reports that are there and whole, by host."""
    found = []
    for path in sorted(folder.glob("[!.]*.json")):
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
            if isinstance(document["checks"], list) and all(c["name"] and "status" in c for c in document["checks"]):
                found.append({**document, "host": str(document["host"])})
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return found


def awaited(folder: Path, nodes: int, within_s: float) -> list[dict[str, Any]]:
    """The reports, once there are so many or the time is over."""
    end = time.monotonic() + within_s
    while len(found := reports(folder)) < nodes and time.monotonic() < end:
        time.sleep(min(1.0, max(0.0, end - time.monotonic())))
    return found


def problems(found: list[dict[str, Any]], nodes: int) -> list[dict[str, str]]:
    """What is wrong, node by node, then between nodes."""
    wrong = [
        {"host": node["host"], "check": c["name"], "status": c["status"], "why": str(c.get("why") or "")}
        for node in found
        for c in node["checks"]
        if c["status"] in ("fail", "warn")
    ]
    if len(found) != nodes:
        hosts = ", ".join(node["host"] for node in found) or "none"
        why = f"{len(found)} of {nodes} nodes reported: {hosts}"
        wrong.append({"host": "", "check": "nodes", "status": "fail", "why": why})
    return wrong + different(found) + slower(found)


def different(found: list[dict[str, Any]]) -> list[dict[str, str]]:
    """The nodes whose value of a check is not what most nodes have."""
    by_check: dict[str, list[tuple[str, str]]] = collections.defaultdict(list)
    for node in found:
        for check in node["checks"]:
            if check["status"] != "skipped" and (check["name"] in EQUAL or check["name"].startswith(EQUAL_BEGIN)):
                by_check[check["name"]].append((node["host"], json.dumps(check.get("value"), sort_keys=True)))
    wrong = []
    for name, values in by_check.items():
        most, _ = collections.Counter(value for _, value in values).most_common(1)[0]
        for host, value in values:
            if value != most:
                why = f"{value[:200]}, where other nodes have {most[:200]}"
                wrong.append({"host": host, "check": name, "status": "fail", "why": why})
    return wrong


def slower(found: list[dict[str, Any]]) -> list[dict[str, str]]:
    """The nodes with a GPU that multiplies matrices slower than the GPUs of all nodes do."""
    rates = {
        node["host"]: c["value"] for node in found for c in node["checks"] if c["name"] == "gpu-matmul" and c["value"]
    }
    every = [rate for of_node in rates.values() for rate in of_node]
    if len(rates) < 2:
        return []
    middle = statistics.median(every)
    return [
        {
            "host": host,
            "check": "gpu-matmul",
            "status": "fail",
            "why": f"GPU {index}: {rate:.0f} TFLOP/s, all nodes' median is {middle:.0f}",
        }
        for host, of_node in rates.items()
        for index, rate in enumerate(of_node)
        if rate < LEAST_OF_MEDIAN * middle
    ]


def cause(wrong: list[dict[str, str]]) -> str:
    """`the preflight: gpu-count on n3 (7 GPUs are visible), memlock on n1, n2 (…)`: failed checks and their nodes."""
    failed = [problem for problem in wrong if problem["status"] == "fail"]
    by_check: dict[str, list[dict[str, str]]] = collections.defaultdict(list)
    for problem in failed:
        by_check[problem["check"]].append(problem)
    parts = []
    for check, found in by_check.items():
        hosts = list(dict.fromkeys(problem["host"] for problem in found if problem["host"]))
        more = f" and {len(hosts) - 3} more" if len(hosts) > 3 else ""
        where = f" on {', '.join(hosts[:3])}{more}" if hosts else ""
        parts.append(f"{check}{where} ({found[0]['why'][:120]})")
    return f"the preflight: {', '.join(parts)}"


def main() -> int:
    """Prints the verdict; 1 where it is no."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--nodes", type=int, required=True)
    parser.add_argument("--within", type=float, default=0.0, help="seconds to wait for all reports")
    parser.add_argument("--blocks", action="store_true", help="say in one line what ends the run")
    parser.add_argument("-o", "--output", type=Path, help="file to write (default: stdout)")
    args = parser.parse_args()
    found = awaited(args.folder, args.nodes, args.within)
    wrong = problems(found, args.nodes)
    ok = all(problem["status"] != "fail" for problem in wrong)
    text = json.dumps({"ok": ok, "nodes": found, "problems": wrong}, indent=2) + "\n"
    if args.output is None:
        sys.stdout.write(text)
    else:
        args.output.write_text(text, encoding="utf-8")
    if args.blocks and not ok:
        print(f"openrecipes: cause: {cause(wrong)}", file=sys.stderr)
    for problem in wrong:
        print(f"preflight: {problem['host'] or 'all nodes'}: {problem['check']}: {problem['why']}", file=sys.stderr)
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
