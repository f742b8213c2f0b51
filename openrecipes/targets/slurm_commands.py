"""Talking to Slurm: which commands, and the one place that runs them."""

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from openrecipes.problems import OutsideError, Place, Problem
from openrecipes.targets.profile import Profile
from openrecipes.targets.slurm import ENTRY

_LIMIT_S: Final = 60
# Which Slurm it is; everything else of Slurm's variables would change the job behind the script's back.
_OF_THE_SITE: Final = ("SLURM_CONF",)


# Prints the settings of the cluster whose Slurm answers here.
CONFIG_COMMAND: Final = ("scontrol", "show", "config")
# Prints name and number of nodes of each partition; the default one has a star.
PARTITIONS_COMMAND: Final = ("sinfo", "--noheader", "--format", "%P|%D")


def nodes_of(partitions: str, name: str | None) -> int | None:
    """Nodes of a partition, of the default one for None, as sinfo prints them; None where it does not say."""
    counts: dict[str, int] = {}
    for line in partitions.splitlines():
        partition, _, number = line.strip().partition("|")
        if number.isdecimal():
            counts[partition] = counts.get(partition, 0) + int(number)
    if name is None:
        return next((count for partition, count in counts.items() if partition.endswith("*")), None)
    return counts.get(name, counts.get(f"{name}*"))


def cluster_here() -> str | None:
    """Name of the cluster whose Slurm answers here; None where none does. Numbers of jobs are a cluster's own."""
    try:
        found = re.search(r"(?m)^ClusterName\s*=\s*(\S+)", ran(CONFIG_COMMAND))
    except OutsideError:
        return None
    return found[1] if found else None


def job_name(run_name: str) -> str:
    """The run's name as squeue finds it again: a comma there would be two names."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", run_name)


def submit_command(name: str, run: Path) -> tuple[str, ...]:
    """Prints the new job's id; called in the run directory."""
    return ("sbatch", "--parsable", f"--job-name={name}", f"rendered/{ENTRY}", str(run))


def job_number(printed: str) -> str:
    """The job's id in what sbatch printed, `17` or `17;CLUSTER`. Raises: OutsideError where there is none."""
    words = printed.split()
    number = words[-1].partition(";")[0] if words else ""
    if not number.isdecimal():
        what = f"sbatch printed no job id, but {' '.join(words)[:200] or 'nothing'}"
        raise _outside(what, "see whether the job is there: squeue --me")
    return number


def test_command(name: str, run: Path) -> tuple[str, ...]:
    """Whether Slurm would take the job; submits nothing."""
    return ("sbatch", "--test-only", f"--job-name={name}", f"rendered/{ENTRY}", str(run))


def state_command(job_id: str) -> tuple[str, ...]:
    """Prints state, reason, estimated start and nodes of a job that has not ended."""
    return ("squeue", "--noheader", "--jobs", job_id, "--format", "%T|%r|%S|%N")


def named_command(name: str) -> tuple[str, ...]:
    """Prints id and working directory of each of our jobs with a name."""
    return ("squeue", "--noheader", "--me", "--name", name, "--format", "%i|%Z")


def ended_command(job_id: str) -> tuple[str, ...]:
    """Prints a job as Slurm remembers it, for some minutes after its end."""
    return ("scontrol", "--oneliner", "show", "job", job_id)


def accounted_command(job_id: str) -> tuple[str, ...]:
    """Prints the state of a job from the accounts, where a cluster has them."""
    return ("sacct", "--noheader", "--parsable2", "--allocations", "--jobs", job_id, "--format", "State")


def ask_command(job_id: str) -> tuple[str, ...]:
    """TERM to the batch script alone, which ends the rest and records it."""
    return ("scancel", "--batch", "--signal=TERM", job_id)


def cancel_command(job_id: str) -> tuple[str, ...]:
    """Ends a job, queued or running."""
    return ("scancel", job_id)


def submit_environment(profile: Profile, environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """What sbatch is called with, and so what a job can inherit: what a job keeps, and nothing else of ours.

    Slurm's own input variables (SBATCH_ACCOUNT and the like) would override the script without a word.
    """
    names = (*profile.kept_variables, *_OF_THE_SITE)
    return {name: environment[name] for name in names if name in environment}


def ran(command: Sequence[str], *, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> str:
    """What a command prints; of one that prints only to stderr, that. Raises: OutsideError with its own words."""
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            timeout=_LIMIT_S,
            stdin=subprocess.DEVNULL,
            cwd=cwd,
            env=env,
        )
    except FileNotFoundError as error:
        raise _outside(
            f"{command[0]} is not on PATH", "launch where Slurm's commands are, as on a login node"
        ) from error
    except subprocess.TimeoutExpired as error:
        what = f"{command[0]} gave no answer within {_LIMIT_S} s"
        raise _outside(what, "see whether slurmctld is up: scontrol ping") from error
    if done.returncode != 0:
        words = " ".join(f"{done.stdout} {done.stderr}".split())[-500:] or f"exit status {done.returncode}"
        raise _outside(f"{command[0]}: {words}", "change the block slurm of the profile, or ask who runs the cluster")
    return done.stdout or done.stderr


def _outside(what: str, mend: str) -> OutsideError:
    return OutsideError(Problem(place=Place(), rule="slurm", what=what, mend=mend))
