"""The GPUs of a run at work for some seconds: matrix products, clocks under load, collectives. See preflight.py.

    python preflight_load.py --gpus 8 [--bus-gb 300]                           one node, all of it
    python preflight_load.py --gpus 8 --nodes 16 --node 3 --master 10.0.0.1:29400 --no-matmul ...   a node of several

Prints {"checks", "measured"}. A rank is a process of its own; torch is imported there alone. Bus bandwidths are
those of nccl-tests: S/t x 2(n-1)/n for all-reduce, S/t x (n-1)/n for alltoall. GB are 10^9 bytes.
"""

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from preflight_asking import LEAST_OF_MEDIAN, check
from preflight_gpus import BRAKES, number, table

AT_LOAD = {
    "index": "index", "utilisation": "utilization.gpu", "sm": "clocks.sm", "most_sm": "clocks.max.sm",
    "memory": "clocks.mem", "most_memory": "clocks.max.mem", "power_w": "power.draw",
    "reasons": "clocks_throttle_reasons.active", "temperature_c": "temperature.gpu",
    "pcie_gen": "pcie.link.gen.current", "most_pcie_gen": "pcie.link.gen.max",
}  # fmt: skip
LEAST_SM_SHARE = 0.7


def timed(torch: Any, device: str, work: Any, warm_up: int, times: int) -> float:
    """Mean seconds of one call, the device's work included."""
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    for _ in range(warm_up):
        work()
    wait()
    start = time.perf_counter()
    for _ in range(times):
        work()
    wait()
    return (time.perf_counter() - start) / times


def matmul_tflops(torch: Any, args: argparse.Namespace) -> float:
    """BF16 products of random square matrices; zeros would run faster. FLOP/s over 10^12."""
    size = args.matmul_size
    one, other = (torch.randn(size, size, device=args.device, dtype=torch.bfloat16) for _ in range(2))
    found, end = [], time.monotonic() + args.seconds
    while not found or time.monotonic() < end:
        found.append(2 * size**3 / timed(torch, args.device, lambda: torch.matmul(one, other), 2, 10) / 1e12)
    return statistics.median(found)


def slowest(torch: Any, seconds: float, device: str, group: Any = None) -> float:
    """The longest of all ranks' times."""
    value = torch.tensor([seconds], device=device, dtype=torch.float64)
    torch.distributed.all_reduce(value, torch.distributed.ReduceOp.MAX, group=group)
    return float(value.item())


def collectives(torch: Any, args: argparse.Namespace) -> dict[str, Any]:
    """All-reduce of each size over all ranks, and alltoall within groups of neighbours."""
    dist, world = torch.distributed, args.world
    kind = torch.bfloat16 if args.device == "cuda" else torch.float32
    found: dict[str, Any] = {"all_reduce_gb_s": {}}
    for size in args.sizes:
        data = torch.ones(size // kind.itemsize, device=args.device, dtype=kind)
        seconds = slowest(
            torch, timed(torch, args.device, lambda data=data: dist.all_reduce(data), 5, args.times), args.device
        )
        found["all_reduce_gb_s"][str(size)] = size / seconds * 2 * (world - 1) / world / 1e9
    members = args.group if args.group > 1 and world % args.group == 0 else world
    groups = [dist.new_group(list(range(first, first + members))) for first in range(0, world, members)]
    own = groups[args.rank // members]
    count = max(1, args.alltoall_bytes // kind.itemsize // members) * members
    give, take = (torch.ones(count, device=args.device, dtype=kind) for _ in range(2))
    seconds = timed(torch, args.device, lambda: dist.all_to_all_single(take, give, group=own), 2, args.times)
    seconds = slowest(torch, seconds, args.device, own)
    each = [torch.zeros(1, device=args.device, dtype=torch.float64) for _ in range(world)]
    dist.all_gather(each, torch.tensor([seconds], device=args.device, dtype=torch.float64))
    found["alltoall_seconds"] = [float(each[first].item()) for first in range(0, world, members)]
    found["alltoall_group"] = members
    return found


def rank(args: argparse.Namespace) -> None:
    """One rank: prints what it measured."""
    import datetime  # noqa: PLC0415

    import torch  # noqa: PLC0415  (only here: the parent runs without)

    if args.device == "cuda":
        torch.cuda.set_device(args.rank % args.gpus)
    found: dict[str, Any] = {"rank": args.rank}
    if args.matmul:
        found["matmul_tflops"] = matmul_tflops(torch, args)
    if args.world > 1:
        torch.distributed.init_process_group(
            "nccl" if args.device == "cuda" else "gloo", init_method=f"tcp://{args.master}", rank=args.rank,
            world_size=args.world, timeout=datetime.timedelta(seconds=args.limit),
        )  # fmt: skip
        found |= collectives(torch, args)
        torch.distributed.destroy_process_group()
    print(json.dumps(found), flush=True)


def ranks(args: argparse.Namespace) -> tuple[list[dict[str, Any]], list[dict[str, str]], str | None]:
    """What every rank of this node measured, the GPUs' states meanwhile, and what went wrong."""
    own = [*sys.argv[1:], "--world", str(args.gpus * args.nodes), "--master", args.master]
    with tempfile.TemporaryDirectory() as folder:
        children = []
        for index in range(args.gpus):
            command = [sys.executable, "-B", __file__, *own, "--rank", str(args.node * args.gpus + index)]
            with Path(folder, f"{index}.out").open("wb") as out, Path(folder, f"{index}.err").open("wb") as err:
                children.append(subprocess.Popen(command, stdout=out, stderr=err, stdin=subprocess.DEVNULL))
        states, end = [], time.monotonic() + args.limit
        while any(child.poll() is None for child in children) and time.monotonic() < end:
            states += table(AT_LOAD)[0] if args.device == "cuda" else []
            time.sleep(0.5)
            if any(child.poll() for child in children):
                break  # the others would wait for it without end
        is_late = time.monotonic() >= end
        for child in children:
            child.kill()
            child.wait()
        outputs = [Path(folder, f"{i}.out").read_text(encoding="utf-8", errors="replace") for i in range(args.gpus)]
        errors = [Path(folder, f"{i}.err").read_text(encoding="utf-8", errors="replace") for i in range(args.gpus)]
    found = [json.loads(line) for text in outputs for line in text.splitlines() if line.startswith('{"rank"')]
    if len(found) == args.gpus:
        return found, states, None
    if is_late:
        return found, states, f"not done after {args.limit:g} s"
    said = next((text.strip().splitlines()[-1] for text in errors if text.strip()), "a rank ended without a word")
    return found, states, said[:300]


def matmul_check(found: list[dict[str, Any]]) -> dict[str, Any]:
    """That no GPU is slower than its neighbours."""
    rates = [one["matmul_tflops"] for one in found]
    least = LEAST_OF_MEDIAN * statistics.median(rates)
    wrong = [
        f"GPU {i}: {rate:.0f} TFLOP/s, the node's median is {least / LEAST_OF_MEDIAN:.0f}"
        for i, rate in enumerate(rates)
        if rate < least
    ]
    return check("gpu-matmul", [round(rate, 1) for rate in rates], wrong)


def clock_check(states: list[dict[str, str]], gpus: int) -> dict[str, Any]:
    """Clocks and brakes of the GPUs while they were busy."""
    wrong, value = [], []
    for index in range(gpus):
        busy = [s for s in states if s["index"] == str(index) and (number(s["utilisation"]) or 0) >= 90]
        if not busy:
            continue
        sm, most = (statistics.median(number(s[key]) or 0 for s in busy) for key in ("sm", "most_sm"))
        memory, most_memory = (
            statistics.median(number(s[key]) or 0 for s in busy) for key in ("memory", "most_memory")
        )
        power, heat = (max(number(s[key]) or 0 for s in busy) for key in ("power_w", "temperature_c"))
        value.append({"gpu": index, "sm_mhz": sm, "memory_mhz": memory, "power_w": power, "temperature_c": heat})
        wrong += [f"GPU {index}: SM clock {sm:g} of {most:g} MHz"] if sm < LEAST_SM_SHARE * most else []
        wrong += [f"GPU {index}: memory clock {memory:g} of {most_memory:g} MHz"] if memory < most_memory else []
        generation, most = busy[-1]["pcie_gen"], busy[-1]["most_pcie_gen"]
        wrong += [f"GPU {index}: PCIe generation {generation} of {most}"] if generation != most else []
        brakes = {s["reasons"] for s in busy if int(number(s["reasons"]) or 0) & BRAKES}
        wrong += [f"GPU {index}: throttled ({', '.join(sorted(brakes))})"] if brakes else []
    if not value:
        return {
            "name": "gpu-clocks-at-load",
            "status": "skipped",
            "value": None,
            "why": "no reading while the GPUs were busy",
        }
    return check("gpu-clocks-at-load", value, wrong)


def bus_check(name: str, found: dict[str, Any], least_gb: float) -> dict[str, Any]:
    """The all-reduce bandwidth of the largest message."""
    rates = {int(size): rate for size, rate in found["all_reduce_gb_s"].items()}
    rate = rates[max(rates)]
    wrong = [f"{rate:.1f} GB/s for {max(rates)} bytes, not {least_gb:g}"] if rate < least_gb else []
    return check(name, {str(size): round(value, 2) for size, value in rates.items()}, wrong)


def parsed() -> argparse.Namespace:
    """What to run, and what is expected."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--gpus", type=int, required=True, help="ranks of this node")
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--node", type=int, default=0, help="which of them this is")
    parser.add_argument("--master", default="", help="HOST:PORT of the first rank; one node takes a free one")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--no-matmul", dest="matmul", action="store_false", help="only collectives")
    parser.add_argument("--matmul-size", type=int, default=8192)
    parser.add_argument("--seconds", type=float, default=5.0, help="time of the matrix products")
    parser.add_argument("--sizes", type=int, nargs="+", default=[2**20, 2**30], help="all-reduce sizes in bytes")
    parser.add_argument("--times", type=int, default=20, help="calls that are timed")
    parser.add_argument("--group", type=int, default=0, help="ranks of an alltoall; 0 takes all")
    parser.add_argument("--alltoall-bytes", type=int, default=2**28, help="bytes that a rank sends")
    parser.add_argument("--bus-gb", type=float, default=0.0, help="least all-reduce bandwidth, GB/s")
    parser.add_argument("--limit", type=float, default=240.0, help="longest time of all, seconds")
    parser.add_argument("--rank", type=int, default=-1, help=argparse.SUPPRESS)
    parser.add_argument("--world", type=int, default=0, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if not args.master:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            args.master = f"127.0.0.1:{probe.getsockname()[1]}"
    return args


def main() -> int:
    """Prints the checks."""
    args = parsed()
    if args.rank >= 0:
        rank(args)
        return 0
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    found, states, failed = ranks(args)
    checks = []
    if failed is not None:
        missing = "No module named 'torch'" in failed
        checks.append(
            {"name": "gpu-load", "status": "skipped" if missing else "fail", "value": len(found), "why": failed}
        )
    else:
        checks += [matmul_check(found), clock_check(states, args.gpus)] if args.matmul else []
        if args.nodes == 1 and args.gpus > 1:
            checks.append(bus_check("all-reduce-node", found[0], args.bus_gb))
    print(json.dumps({"checks": checks, "measured": found}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
