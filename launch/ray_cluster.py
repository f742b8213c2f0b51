"""What a launch asks Ray and its machine: an address, free ports, whether every GPU has joined.

    python ray_cluster.py address                                     this machine's address, as others reach it
    python ray_cluster.py ports 3                                     three free ports
    python ray_cluster.py wait --address IP:PORT --nodes 2 --gpus 16 --within 300

`wait` ends with 0 once so many nodes are alive with so many GPUs together, and with 75 where they are not in
time: slime itself waits for missing GPUs without limit. It imports ray; the others only the standard library.
"""

import argparse
import contextlib
import socket
import sys
import time
from typing import Any

TOO_LATE = 75  # EX_TEMPFAIL: never to be read as success


def address() -> str:
    """The IPv4 address that this machine would send from; loopback where it has no network."""
    with contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # reserved for documentation; connecting a datagram socket sends nothing
            return str(probe.getsockname()[0])
        except OSError:
            return "127.0.0.1"


def free_ports(count: int) -> list[int]:
    """Different ports that nothing listens on, above those that Ray gives its workers."""
    held = [socket.socket() for _ in range(count)]
    try:
        for one in held:
            one.bind(("", 0))
        return [one.getsockname()[1] for one in held]
    finally:
        for one in held:
            one.close()


def joined(ray: Any) -> tuple[list[str], float]:
    """Addresses of the nodes that are alive, and their GPUs."""
    alive = [node for node in ray.nodes() if node["Alive"]]
    return sorted(node["NodeManagerAddress"] for node in alive), sum(n["Resources"].get("GPU", 0) for n in alive)


def wait(where: str, nodes: int, gpus: int, within_s: float) -> int:
    """0 once the cluster is complete, TOO_LATE where it is not within so many seconds; it says what is there."""
    import ray  # noqa: PLC0415  (the other verbs run without it)

    end, seen, said = time.monotonic() + within_s, ([], 0.0), ""
    while time.monotonic() < end:
        try:
            if not ray.is_initialized():
                ray.init(address=where, log_to_driver=False, logging_level="ERROR")
            seen = joined(ray)
        except Exception as error:  # whatever it is, Ray is not there yet; the bound is ours
            ray.shutdown()
            line = f"waiting for Ray at {where}: {type(error).__name__}"
        else:
            line = f"Ray has {len(seen[0])} of {nodes} nodes and {seen[1]:g} of {gpus} GPUs: {', '.join(seen[0])}"
            if len(seen[0]) == nodes and seen[1] >= gpus:
                print(line, flush=True)
                return 0
        if line != said:
            print(line, flush=True)
            said = line
        time.sleep(min(1.0, max(0.0, end - time.monotonic())))
    print(f"Ray is not complete after {within_s:g} s: {said}", file=sys.stderr, flush=True)
    return TOO_LATE


def main() -> int:
    """Does what the first argument says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("address")
    verbs.add_parser("ports").add_argument("count", type=int)
    waiting = verbs.add_parser("wait")
    waiting.add_argument("--address", required=True)
    for name, kind in (("--nodes", int), ("--gpus", int), ("--within", float)):
        waiting.add_argument(name, type=kind, required=True)
    args = parser.parse_args()
    if args.verb == "address":
        print(address())
    elif args.verb == "ports":
        print(*free_ports(args.count))
    else:
        return wait(args.address, args.nodes, args.gpus, args.within)
    return 0


if __name__ == "__main__":
    sys.exit(main())
