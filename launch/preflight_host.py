"""The preflight's checks of a node itself: limits, memory, clock, network, what others left. See preflight.py."""

import argparse
import contextlib
import ctypes
import os
import re
import resource
import shutil
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

from preflight_asking import Outcome, judged, output_of, read

GIB = 2**30
UNSYNCHRONISED = 0x40  # STA_UNSYNC of adjtimex(2)


def limit_checks(args: argparse.Namespace) -> Iterator[tuple[str, Outcome]]:
    """Locked memory, open files, shared memory and hugepages."""
    locked, files = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0], resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    unlimited = locked == resource.RLIM_INFINITY or locked >= 2**60
    needed = args.fabric != "none" and not unlimited
    yield (
        "memlock",
        judged("unlimited" if unlimited else locked, ["not unlimited: RDMA cannot register memory"] if needed else []),
    )
    few = files != resource.RLIM_INFINITY and files < args.nofile
    yield (
        "nofile",
        judged(
            "unlimited" if files == resource.RLIM_INFINITY else files,
            [f"{files} open files, below {args.nofile}"] if few else [],
        ),
    )
    shm = shutil.disk_usage(args.shm).total / GIB if args.shm.is_dir() else 0.0
    yield (
        "shared-memory",
        judged(round(shm, 2), [f"{args.shm} has {shm:.2f} GiB, below {args.shm_gib:g}"] if shm < args.shm_gib else []),
    )
    free = memory("HugePages_Free") or 0
    yield "hugepages", judged(free, [f"{free} of 2 MiB free, not {args.hugepages}"] if free < args.hugepages else [])


def host_checks(args: argparse.Namespace) -> Iterator[tuple[str, Outcome]]:
    """Settings of the kernel, processors, memory, and who else is there."""
    balancing = read("/proc/sys/kernel/numa_balancing")
    yield (
        "numa-balancing",
        judged(balancing, ["is on: pages move while GPUs copy"] if balancing == "1" else [], status="warn"),
    )
    huge = re.search(r"\[(\w+)\]", read(f"{args.sys}/kernel/mm/transparent_hugepage/enabled") or "")
    yield "transparent-hugepages", judged(huge[1] if huge else None, [])
    governors = {read(str(p)) for p in args.sys.glob("devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor")}
    slow = sorted(str(g) for g in governors - {"performance"})
    yield (
        "cpu-governor",
        judged(sorted(map(str, governors)), [f"{', '.join(slow)}, not performance"] if slow else [], status="warn"),
    )
    cores = len(os.sched_getaffinity(0))
    few = [f"{cores} of {os.cpu_count()} CPUs may be used, not {args.cpus}"] if cores < args.cpus else []
    yield "cpu-cores", judged(cores, few)
    free = (memory("MemAvailable") or 0) / 2**20
    yield (
        "memory-free",
        judged(round(free), [f"{free:.0f} GiB, not {args.memory_gib:g}"] if free < args.memory_gib else []),
    )
    yield "other-users", other_users()


def memory(name: str) -> int | None:
    """A line of /proc/meminfo: kB, or a count."""
    found = re.search(rf"^{name}:\s*(\d+)", read("/proc/meminfo") or "", re.M)
    return int(found[1]) if found else None


def other_users() -> Outcome:
    """People's processes that are not ours: they share processors, memory and network."""
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            user = folder.stat().st_uid
            if user >= 1000 and user not in (os.getuid(), 65534):
                found.add(user)
    wrong = [f"processes of user ids {', '.join(map(str, sorted(found)[:5]))}"] if found else []
    return judged(sorted(found), wrong, status="warn")


def clock_check() -> Outcome:
    """Whether something keeps this node's clock right, by the kernel's own word."""
    state = ctypes.create_string_buffer(256)  # struct timex, `modes` 0: read only
    try:
        answer = ctypes.CDLL(None, use_errno=True).adjtimex(state)
    except (OSError, AttributeError) as error:
        return "skipped", None, f"the kernel does not tell: {error}"
    if answer < 0:
        return "skipped", None, f"the kernel does not tell: {os.strerror(ctypes.get_errno())}"
    maximum, estimate, status = struct.unpack_from("=qqi", state.raw, 24)
    value = {"largest_error_s": maximum / 1e6, "estimated_error_s": estimate / 1e6}
    return judged(
        value, ["nothing keeps this clock right (chrony, ntpd)"] if status & UNSYNCHRONISED else [], status="warn"
    )


def network_checks(args: argparse.Namespace) -> Iterator[tuple[str, Outcome]]:
    """The interface of the default route with its MTU, the node's own name, and ports."""
    interface = next(
        (
            line.split()[0]
            for line in (read(f"{args.proc}/net/route") or "").splitlines()[1:]
            if line.split()[1] == "0" * 8
        ),
        None,
    )
    mtu = read(f"{args.sys}/class/net/{interface}/mtu") if interface else None
    if interface is None:
        yield "network", ("skipped", None, "there is no default route")
    else:
        yield "network", judged({"interface": interface, "mtu": mtu}, [])
    try:
        addresses = sorted({str(item[4][0]) for item in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)})
        yield "own-name", judged(addresses, [], status="warn")
    except OSError as error:
        yield "own-name", ("warn", None, f"{socket.gethostname()} does not resolve here: {error}")
    for port in args.port:
        yield f"port {port}", port_check(port)
    for text in args.port_range:
        first, _, last = text.partition("-")
        yield f"ports {text}", range_check(int(first), int(last), args.free_ports)


def port_check(port: int) -> Outcome:
    """That nothing listens on a port that the run will take."""
    why = taken(port)
    return ("fail", port, f"port {port}: {why}") if why else ("ok", port, "")


def range_check(first: int, last: int, wanted: int) -> Outcome:
    """That a range from which the trainer takes ports has enough free ones."""
    free = 0
    for port in range(first, last + 1):
        free += taken(port) is None
        if free >= wanted:
            return "ok", free, ""
    return "fail", free, f"{free} free ports from {first} to {last}, not {wanted}"


def taken(port: int) -> str | None:
    """Why a port cannot be listened on; None where it can."""
    with contextlib.closing(socket.socket()) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError as error:
            return error.strerror or str(error)
    return None


def reach_check(address: str, timeout_s: float = 5) -> Outcome:
    """That a host's port answers from here."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout_s):
            return "ok", address, ""
    except (OSError, ValueError, OverflowError) as error:
        return "fail", address, f"{address} is not reached: {error}"


def leftovers_check(shm: Path) -> Outcome:
    """Ray, a trainer or a container of an earlier run: reported, never ended, since it may be somebody's."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        command = (read(f"{folder}/comm") or "")[:15]
        line = (read(f"{folder}/cmdline") or "").split("\0")
        if command in ("raylet", "gcs_server") or command.startswith("ray::"):
            found.append(f"{command} ({folder.name})")
        elif any(word.endswith("train_async.py") for word in line[:3]):
            found.append(f"train_async.py ({folder.name})")
    found += [path.name for path in shm.glob("plasma*")]
    names, failed = output_of("docker", "ps", "--format", "{{.Names}}", timeout_s=5)
    found += [] if failed else [f"container {name}" for name in names.split() if name.startswith("openrecipes-")]
    return judged(
        sorted(found), [f"left from another run: {', '.join(sorted(found)[:10])}"] if found else [], status="warn"
    )
