"""What a node of a launch is called in its network, and which of its ports are free.

    python node_network.py address [--interface eth0]     this node's IPv4 address, as the other nodes reach it
    python node_network.py ports 3 [--wanted 6379]         free ports, different ones; a wanted one, or who has it

The standard library only, Python 3.10 or newer, one file.
"""

import argparse
import contextlib
import fcntl
import pwd
import socket
import struct
import sys
from pathlib import Path

SIOCGIFADDR = 0x8915


def of_interface(name: str) -> str:
    """The IPv4 address of a network interface. Raises: OSError if it has none."""
    with contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as probe:
        answer = fcntl.ioctl(probe.fileno(), SIOCGIFADDR, struct.pack("256s", name.encode()[:15]))
    return socket.inet_ntoa(answer[20:24])


def of_hostname() -> list[str]:
    """IPv4 addresses that this node's own name resolves to, as far as they are really its own."""
    try:
        found = socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET, socket.SOCK_STREAM)
    except OSError:
        return []
    return [address for address in dict.fromkeys(str(item[4][0]) for item in found) if is_own(address)]


def is_own(address: str) -> bool:
    """Whether an interface of this node has the address: one can listen on no other."""
    with contextlib.closing(socket.socket()) as probe:
        try:
            probe.bind((address, 0))
        except OSError:
            return False
    return True


def of_route() -> list[str]:
    """The IPv4 address that this node would send from; none without a network."""
    with contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # reserved for documentation; connecting a datagram socket sends nothing
        except OSError:
            return []
        return [str(probe.getsockname()[0])]


def address() -> str:
    """The address of the node's name, else the one that it sends from; a loopback one where there is no other."""
    named = of_hostname()
    candidates = [*named, *of_route()]
    outward = [one for one in candidates if not one.startswith("127.")]
    return next(iter((*outward, *named, "127.0.0.1")))


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


def is_free(port: int) -> bool:
    """Whether nothing listens on a port of this node."""
    with contextlib.closing(socket.socket()) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
            probe.listen(1)
        except OSError:
            return False
    return True


def listener(port: int) -> str:
    """Who listens on a port, in words: process, command, user; what of it this user may see."""
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with contextlib.suppress(OSError):
            for line in Path(table).read_text(encoding="ascii").splitlines()[1:]:
                words = line.split()
                if words[3] == "0A" and int(words[1].rpartition(":")[2], 16) == port:
                    return f"{holder(words[9])} of user {user(int(words[7]))}"
    return "a process that cannot be seen from here"


def holder(inode: str) -> str:
    """The process that holds a socket: its id and command."""
    for folder in Path("/proc").glob("[0-9]*/fd"):
        with contextlib.suppress(OSError):
            for handle in folder.iterdir():
                if str(handle.readlink()) == f"socket:[{inode}]":
                    command = (folder.parent / "comm").read_text(encoding="utf-8", errors="replace").strip()
                    return f"process {folder.parent.name} ({command})"
    return "a process"


def user(uid: int) -> str:
    """The name of a user, or the number where there is none."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def main() -> int:
    """Does what the first argument says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    asking = verbs.add_parser("address")
    asking.add_argument("--interface")
    ports = verbs.add_parser("ports")
    ports.add_argument("count", type=int)
    ports.add_argument("--wanted", type=int)
    args = parser.parse_args()
    if args.verb == "address":
        try:
            print(of_interface(args.interface) if args.interface else address())
        except OSError as error:
            what = f"interface {args.interface} has no IPv4 address ({error.strerror})"
            print(f"openrecipes: cause: {what} on {socket.gethostname()}", file=sys.stderr)
            return 2
        return 0
    if args.wanted is not None and not is_free(args.wanted):
        what = f"port {args.wanted} of {socket.gethostname()} is taken by {listener(args.wanted)}"
        print(f"openrecipes: cause: {what}", file=sys.stderr)
        return 2
    wanted = [] if args.wanted is None else [args.wanted]
    print(*wanted, *free_ports(args.count - len(wanted)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
