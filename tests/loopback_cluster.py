"""Four nodes of one machine: a Slurm cluster and an sshd each, on loopback alone, for tests that launch for real.

    loopback_cluster.py FOLDER NODES          as root; runs until it is killed, and nothing of it is left then

It lives in namespaces of its own. Of the network there is only loopback, with an address a node, so that even a
daemon which listens everywhere is reached from nowhere else. Each node has its own hostname and its own /tmp/ray.
Slurm is Debian's, from slurmd, slurmctld and munge. The file FOLDER/ready appears when every node is idle.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

GPUS = 8
PORT = 17000
SSH_PORT = 2222

SLURM = """\
ClusterName=loopback
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/log/slurmctld.log
SlurmdLogFile={folder}/log/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=batch_sched_delay=0,sched_interval=2
SlurmdParameters=config_overrides
GresTypes=gpu
MpiDefault=none
ReturnToService=2
MailProg=/bin/true
SlurmdTimeout=20
MessageTimeout=20
PropagateResourceLimitsExcept=MEMLOCK
"""
NODE = (
    "NodeName=n{i} NodeHostname=n{i} NodeAddr=127.0.0.{address} Port={port} CPUs=16 Boards=1 SocketsPerBoard=1 "
    "CoresPerSocket=16 ThreadsPerCore=1 RealMemory=2000 Gres=gpu:h200:{gpus} State=UNKNOWN\n"
)
SSHD = """\
Port {port}
ListenAddress 127.0.0.{address}
HostKey {folder}/ssh/host_key
PidFile {folder}/ssh/n{i}.pid
AuthorizedKeysFile {folder}/ssh/user_key.pub
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin prohibit-password
"""
CLIENT = """\
Host n*
  Port {port}
  User root
  IdentityFile {folder}/ssh/user_key
  IdentitiesOnly yes
  UserKnownHostsFile {folder}/ssh/known_hosts
"""


def run(*command: str) -> None:
    """Runs a program of the set-up; its output is ours."""
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)


def address(i: int) -> int:
    """Last part of the loopback address of node i."""
    return 10 + i


def network(folder: Path, nodes: int) -> None:
    """Loopback with an address and a name for each node."""
    run("ip", "link", "set", "lo", "up")
    # Our own name too, or daemons wait for a name server that is not there.
    lines = [f"127.0.0.1 localhost {os.uname().nodename}"]
    for i in range(1, nodes + 1):
        # glibc looks no name up on a machine whose only address is 127.0.0.1.
        run("ip", "addr", "add", f"127.0.0.{address(i)}/32", "dev", "lo")
        lines.append(f"127.0.0.{address(i)} n{i}")
    (folder / "hosts").write_text("\n".join(lines) + "\n")
    run("mount", "--bind", str(folder / "hosts"), "/etc/hosts")


def configure(folder: Path, nodes: int) -> None:
    """slurm.conf, gres.conf, munge's key, and a copy of /dev/null for each GPU."""
    for name in ("state", "spool", "log", "dev", "ssh"):
        (folder / name).mkdir(parents=True)
    for gpu in range(GPUS):
        run("mknod", str(folder / "dev" / f"gpu{gpu}"), "c", "1", "3")
    numbers = range(1, nodes + 1)
    names = "n1" if nodes == 1 else f"n[1-{nodes}]"
    lines = [NODE.format(i=i, address=address(i), port=PORT + i, gpus=GPUS) for i in numbers]
    partition = f"PartitionName=gpu Nodes={names} Default=YES MaxTime=INFINITE State=UP\n"
    (folder / "slurm.conf").write_text(SLURM.format(folder=folder, port=PORT) + "".join(lines) + partition)
    (folder / "gres.conf").write_text(f"NodeName={names} Name=gpu Type=h200 File={folder}/dev/gpu[0-{GPUS - 1}]\n")
    key = folder / "munge.key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o600)


def keys(folder: Path, nodes: int) -> None:
    """A key of the hosts, one of the user, and the client's configuration with both."""
    for name in ("host_key", "user_key"):
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / "ssh" / name))
    host = (folder / "ssh" / "host_key.pub").read_text()
    known = [f"[n{i}]:{SSH_PORT},[127.0.0.{address(i)}]:{SSH_PORT} {host}" for i in range(1, nodes + 1)]
    (folder / "ssh" / "known_hosts").write_text("".join(known))
    (folder / "ssh" / "config").write_text(CLIENT.format(port=SSH_PORT, folder=folder))
    Path("/run/sshd").mkdir(exist_ok=True)
    for i in range(1, nodes + 1):
        (folder / "ssh" / f"n{i}.conf").write_text(SSHD.format(port=SSH_PORT, address=address(i), folder=folder, i=i))


def start_node(folder: Path, i: int) -> None:
    """One node: its own hostname and /tmp/ray, a slurmd and an sshd."""
    ray = folder / "ray" / f"n{i}"
    ray.mkdir(parents=True)
    script = 'hostname "$1"; mount --bind "$2" /tmp/ray; slurmd -N "$1"; exec /usr/sbin/sshd -f "$3" -E "$4"'
    words = (f"n{i}", str(ray), str(folder / "ssh" / f"n{i}.conf"), str(folder / "log" / f"sshd.n{i}.log"))
    run("unshare", "-m", "-u", "bash", "-c", script, "node", *words)


def idle(nodes: int) -> bool:
    """Whether every node is idle; sinfo hangs where nothing answers."""
    asked = ("timeout", "5", "sinfo", "-h", "-t", "idle", "-o", "%D")
    return subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip() == str(nodes)


def main() -> None:
    """Starts everything, says so, and stays."""
    folder, nodes = Path(sys.argv[1]), int(sys.argv[2])
    Path("/tmp/ray").mkdir(exist_ok=True)
    configure(folder, nodes)
    keys(folder, nodes)
    network(folder, nodes)
    os.environ["SLURM_CONF"] = str(folder / "slurm.conf")
    munge = {"key-file": "munge.key", "socket": "munge.socket", "pid-file": "munge.pid", "log-file": "log/munge.log"}
    run("munged", *(f"--{name}={folder / file}" for name, file in munge.items()), f"--seed-file={folder / 'seed'}")
    run("slurmctld", "-i")
    for i in range(1, nodes + 1):
        start_node(folder, i)
    end = time.monotonic() + 30
    while not idle(nodes):
        if time.monotonic() > end:
            sys.exit(f"not all of {nodes} nodes are idle, see {folder}/log")
        time.sleep(0.2)
    (folder / "ready").touch()
    while True:  # the first process of its namespace inherits what has lost its parent
        try:
            os.wait()
        except ChildProcessError:
            time.sleep(0.5)


if __name__ == "__main__":
    main()
