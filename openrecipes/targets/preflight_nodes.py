"""The preflight of every node that is reached from here without a job of ours: over ssh, or as a step of Slurm."""

import base64
import io
import json
import statistics
import subprocess
import tarfile
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Final

from openrecipes.layouts.degrees import gpus_of_a_node, nodes
from openrecipes.problems import OutsideError, Place, Problem
from openrecipes.recipe.model import Recipe
from openrecipes.targets.container_values import container_values
from openrecipes.targets.preflight import preflight_files, without_python
from openrecipes.targets.preflight_words import MOST_SKEW_S
from openrecipes.targets.profile import Profile
from openrecipes.targets.slurm import allocation_options
from openrecipes.targets.slurm_commands import PARTITIONS_COMMAND, nodes_of, ran, submit_environment
from openrecipes.targets.slurm_site import SlurmSite
from openrecipes.targets.ssh_site import SshSite
from openrecipes.targets.templates import shell_script

# sshd turns away some of many logins at once (MaxStartups), and each takes its time.
_AT_ONCE: Final = 10
_LIMIT_S: Final = 600
_MINUTES: Final = 15
# A clock's word needs its time to come here.
_ON_THE_WAY_S: Final = 0.5
_MOST_CHARACTERS: Final = 4 * 2**20


@dataclass(slots=True)
class _Heard:
    """What came from one node: its clock beside ours, and the pieces of its report or that nothing could make one."""

    clock: tuple[float, float] | None = None
    pieces: dict[int, str] = field(default_factory=dict)
    wanted: int | None = None
    has_no_python: bool = False

    def report(self) -> dict[str, Any] | None:
        """The report, once all of it is there."""
        if self.wanted is None or len(self.pieces) != self.wanted or set(self.pieces) != set(range(self.wanted)):
            return None
        try:
            document = json.loads(base64.b64decode("".join(self.pieces[i] for i in range(self.wanted))))
            return document if isinstance(document["checks"], list) and isinstance(document["host"], str) else None
        except (ValueError, KeyError, TypeError):
            return None


def reports_of_nodes(
    profile: Profile, words: Sequence[str], recipe: Recipe | None, *, wait_s: int
) -> list[dict[str, Any]]:
    """A report of every node of the profile, of as many as the recipe needs where there is one; clocks compared.

    Raises: OutsideError where Slurm gives no nodes; ValueError for a place that is reached otherwise.
    """
    gpus = gpus_of(recipe, profile)
    script = node_script(profile, words, has_gpus=gpus > 0)
    wanted = None if recipe is None else nodes(recipe.gpu.count, recipe.gpu.per_node)
    if profile.ssh is not None:
        return with_skew(ssh_reports(profile.ssh, script, profile.ssh.hosts[:wanted], profile.python))
    if profile.target != "slurm":
        raise ValueError(f"the nodes of {profile.target} are not reached from here")
    return with_skew(slurm_reports(profile, script, wanted or slurm_nodes(profile), gpus, wait_s))


def node_script(profile: Profile, words: Sequence[str], *, has_gpus: bool) -> str:
    """The script that a node's bash reads from standard input, with the programs in it."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz", compresslevel=9) as archive:
        for file in preflight_files():
            member = tarfile.TarInfo(file.path)
            member.size = len(file.content)
            archive.addfile(member, io.BytesIO(file.content))
    return shell_script(
        "preflight_node.sh.j2",
        packed=base64.b64encode(packed.getvalue()).decode(),
        container=container_values(profile),
        has_gpus=has_gpus,
        python=profile.python,
        preflight_words=tuple(words),
    )


def ssh_reports(site: SshSite, script: str, hosts: Sequence[str], python: str) -> list[dict[str, Any]]:
    """A report of each host, in their order; of one that is not reached, or has no such interpreter, why."""

    def one(host: str) -> dict[str, Any]:
        heard, said = _listened((*_ssh(site), "--", host, "bash -s"), script, None)
        found = _reports(heard, python)
        if not found:
            return _silent(host, said or "it gave no report")
        return {**found[0], "host": host}

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(one, hosts))


def slurm_reports(profile: Profile, script: str, count: int, gpus: int, wait_s: int) -> list[dict[str, Any]]:
    """A report of each of so many nodes, given by Slurm within `wait_s`. Raises: OutsideError with srun's own words."""
    command = srun_words(profile, count, gpus, wait_s)
    heard, said = _listened(command, script, submit_environment(profile))
    found = _reports(heard, profile.python)
    if not found:
        what = said or "srun gave no report"
        mend = "wait longer with --wait, or change the block slurm of the profile"
        raise OutsideError(Problem(place=Place(), rule="slurm", what=f"srun: {what}", mend=mend))
    return found


def srun_words(profile: Profile, count: int, gpus: int, wait_s: int) -> tuple[str, ...]:
    """One step on so many nodes; the script comes to each of them on standard input."""
    site = profile.slurm or SlurmSite()
    words = ["srun", "--job-name=openrecipes-preflight", f"--nodes={count}", f"--ntasks={count}", "--ntasks-per-node=1"]
    words += [f"--time={_MINUTES}", f"--immediate={wait_s}", "--cpu-bind=none", "--mpi=none", "--export=ALL"]
    # A few minutes' look may lie on any leaf switches.
    words += allocation_options(site.model_copy(update={"switches": None}), gpus)
    container = container_values(profile)
    if container is not None and container["runtime"] == "pyxis":
        words += [f"--container-image={container['image']}", "--no-container-mount-home"]
        words += [f"--container-mounts={','.join(container['mounts'])}"] if container["mounts"] else []
    return (*words, *site.step_options, "bash", "-s")


def slurm_nodes(profile: Profile) -> int:
    """Nodes of the profile's partition. Raises: OutsideError where Slurm does not say."""
    site = profile.slurm
    return nodes_of(ran(PARTITIONS_COMMAND), site.partition if site else None) or 1


def gpus_of(recipe: Recipe | None, profile: Profile) -> int:
    """GPUs of a node that the recipe needs; without one, those that the profile says a node has."""
    if recipe is not None:
        return 0 if recipe.gpu.type == "CPU" else gpus_of_a_node(recipe.gpu.count, recipe.gpu.per_node)
    return profile.gpu.per_node or 0 if profile.gpu is not None and profile.gpu.type != "CPU" else 0


def _ssh(site: SshSite) -> tuple[str, ...]:
    config = () if site.config is None else ("-F", site.config)
    options = ("BatchMode=yes", f"ConnectTimeout={site.connect_seconds}", "ServerAliveInterval=15", "ControlPath=none")
    return ("ssh", "-T", *config, *(word for option in (*options, *site.options) for word in ("-o", option)))


def _listened(
    command: Sequence[str], script: str, environment: Mapping[str, str] | None
) -> tuple[dict[str, _Heard], str]:
    """What each node said, and the last words of the program that reached them."""
    heard: dict[str, _Heard] = {}
    with tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment
            )
        except FileNotFoundError:
            return {}, f"{command[0]} is not on PATH"
        limit = threading.Timer(_LIMIT_S, process.kill)
        limit.start()
        with process:
            sender = threading.Thread(target=_send, args=(process, script))
            sender.start()
            for line in iter(lambda: process.stdout.readline(_MOST_CHARACTERS) if process.stdout else "", ""):
                _hear(heard, line, time.time())
            sender.join()
        limit.cancel()
        errors.seek(0)
        said = errors.read().decode(errors="replace").strip().splitlines()
    return heard, " ".join(said[-3:])[-500:] or f"{command[0]} ended with {process.returncode}"


def _send(process: "subprocess.Popen[str]", script: str) -> None:
    try:
        if process.stdin is not None:
            process.stdin.write(script)
            process.stdin.close()
    except BrokenPipeError:
        return


def _hear(heard: dict[str, _Heard], line: str, now: float) -> None:
    kind, _, rest = line.strip().partition(": ")
    words = rest.split(" ")
    try:
        if kind == "openrecipes-clock":
            heard.setdefault(words[0], _Heard()).clock = (float(words[1]), now)
        elif kind == "openrecipes-report":
            heard.setdefault(words[0], _Heard()).pieces[int(words[1])] = words[2]
        elif kind == "openrecipes-no-python":
            heard.setdefault(words[0], _Heard()).has_no_python = words[1] in ("126", "127")
        elif kind == "openrecipes-end":
            heard.setdefault(words[0], _Heard()).wanted = int(words[1])
    except (ValueError, IndexError):
        return


def _reports(heard: Mapping[str, _Heard], python: str) -> list[dict[str, Any]]:
    """The whole reports, each with how its clock came to stand beside ours; of a node without the interpreter, that."""
    found = []
    for name, node in heard.items():
        report = node.report()
        if report is not None:
            found.append({**report, "clock": node.clock})
        elif node.has_no_python:
            host = name.rpartition("-")[0]
            found.append({**without_python(host, python, "is not there, or may not be run"), "clock": node.clock})
    return sorted(found, key=lambda report: str(report["host"]))


def with_skew(reports: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The reports, each with a check of how far its clock is from that of most nodes."""
    offsets = {id(r): r["clock"][0] - r["clock"][1] for r in reports if r.get("clock")}
    middle = statistics.median(offsets.values()) if offsets else 0.0
    return [_with_skew(report, offsets.get(id(report)), middle) for report in reports]


def _with_skew(report: dict[str, Any], offset: float | None, middle: float) -> dict[str, Any]:
    rest = {key: value for key, value in report.items() if key != "clock"}
    if offset is None:
        return rest
    skew = offset - middle
    wrong = abs(skew) - _ON_THE_WAY_S > MOST_SKEW_S
    check = {
        "name": "clock-skew",
        "status": "fail" if wrong else "ok",
        "value": {"seconds": round(skew, 3), "error_s": _ON_THE_WAY_S},
        "why": f"{skew:+.2f} s from the other nodes" if wrong else "",
    }
    return {**rest, "ok": bool(rest.get("ok")) and not wrong, "checks": [*rest["checks"], check]}


def _silent(host: str, why: str) -> dict[str, Any]:
    check = {"name": "ssh", "status": "fail", "value": None, "why": why}
    return {"schema_version": 1, "host": host, "ok": False, "checks": [check]}
