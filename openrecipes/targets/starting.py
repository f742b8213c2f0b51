"""Starts a prepared run where its target says, once; and finds again what an earlier harness started."""

import platform
from pathlib import Path

from openrecipes.problems import OutsideError, Place, Problem, ProblemsError, UsageError
from openrecipes.runs.directory import RunDirectory
from openrecipes.runs.record import Submission
from openrecipes.targets import local, ssh
from openrecipes.targets.job import Book, Job, Submitted
from openrecipes.targets.kubernetes_start import created, found_job
from openrecipes.targets.node_script import node_count
from openrecipes.targets.process_job import ProcessJob, is_launched_script
from openrecipes.targets.rendering import Prepared
from openrecipes.targets.slurm_commands import (
    PARTITIONS_COMMAND,
    cluster_here,
    job_name,
    job_number,
    nodes_of,
    ran,
    submit_command,
    submit_environment,
    test_command,
)
from openrecipes.targets.slurm_job import SlurmJob, found_by_name
from openrecipes.targets.submit import refuse_changed, submit


def started(book: Book, ready: Prepared) -> Job:
    """The job, begun from the bytes on disk; the record says so before it is, and how to find it after.

    Raises: ProblemsError, and starts nothing, if those are not the rendered bytes; OutsideError with the
    scheduler's own words.
    """
    refuse_submitted(book.record)
    if ready.target.name == "slurm":
        return _slurm_job(book, ready)
    if ready.target.name == "kubernetes":
        return created(book, ready)
    job = submit(ready.rendered, book.run, stop_s=_stop_s(ready.target.name))
    book.note(outcome="running", submission=job.submission)
    return job


def found_again(run: RunDirectory, record: Submitted, *, pods: int | None = None) -> Job:
    """The job that a record tells of; on Kubernetes of as many pods as the recipe takes, or `pods`.

    Raises: ProblemsError where there is none to be found.
    """
    submission = record.submission
    if submission is None:
        what, mend = "was prepared and never submitted", "launch the recipe again, in another run directory"
        raise ProblemsError(Problem(place=Place(file=str(run.root)), rule="run-submitted", what=what, mend=mend))
    if submission.kind == "slurm":
        _refuse_other_cluster(run, submission)
        found = submission if submission.id is not None else found_by_name(submission, run)
        if found is None:
            raise _lost(run, f"Slurm knows no job {submission.name} of this directory")
        return SlurmJob(run, found)
    if submission.kind == "kubernetes":
        return found_job(run, record, pods=pods)
    return _found_process(run, submission, record.target)


def refuse_submitted(record: Submitted) -> None:
    """Nothing, if the run was not submitted before: a run is one execution."""
    if record.submission is not None:
        what = f"was submitted already, as {record.submission.kind} {record.submission.id or record.submission.name}"
        mend = "follow it with `openrecipes launch --attach RUN_DIR`, or launch into another run directory"
        raise ProblemsError(Problem(place=Place(file=record.name), rule="run-submitted", what=what, mend=mend))


def refuse_directory(ready: Prepared, root: Path) -> None:
    """Nothing, if a job of this kind can write below a path.

    Raises: UsageError if Slurm would read it as a pattern, or a container's options as several paths.
    """
    found, container = set(str(root.absolute())), ready.launch.profile.container
    if ready.target.name == "slurm" and found & set("%\\"):
        wrong, why = found & set("%\\"), "which Slurm expands in the path of a job's output"
    elif container is not None and found & set(":,"):
        wrong, why = found & set(":,"), f"which {container.runtime} takes for the end of a mounted path"
    else:
        return
    what = f"holds {' and '.join(sorted(wrong))}, {why}"
    mend = "name a run directory without it, and a folder without it above"
    raise UsageError(Problem(place=Place(file=str(root), key="--run-dir"), rule="run-directory", what=what, mend=mend))


def refuse_place(ready: Prepared) -> None:
    """Nothing, if the launch has a place to go, as far as anybody can be asked before there is a run.

    Raises: OutsideError where Slurm does not answer; ProblemsError where its partition is too small.
    """
    if ready.target.name != "slurm":
        return
    site, wanted = ready.launch.profile.slurm, node_count(ready.launch)
    there = nodes_of(ran(PARTITIONS_COMMAND), site.partition if site else None)
    if there is not None and there < wanted:
        what = f"the partition has {there} nodes, and the job needs {wanted}; Slurm would let it wait for ever"
        mend = "name a partition with more nodes, or launch a smaller recipe"
        place = Place(file=ready.launch.profile.title, key="slurm.partition")
        raise ProblemsError(Problem(place=place, rule="target-nodes", what=what, mend=mend))


def slurm_would_take(run: Path, name: str, ready: Prepared) -> str:
    """What Slurm says of the job without taking it. Raises: OutsideError where it would not."""
    return ran(test_command(name, run), cwd=run, env=submit_environment(ready.launch.profile)).strip()


def _slurm_job(book: Book, ready: Prepared) -> SlurmJob:
    run = book.run
    refuse_changed(ready.rendered, run)
    name = job_name(run.root.name)
    slurm_would_take(run.root, name, ready)
    command = submit_command(name, run.root)
    # Before sbatch is called, so that whoever comes after a crash knows what to look for.
    submission = Submission(kind="slurm", id=None, name=name, cluster=cluster_here(), command=command)
    book.note(outcome="running", submission=submission)
    try:
        number = job_number(ran(command, cwd=run.root, env=submit_environment(ready.launch.profile)))
    except OutsideError:
        # A controller that answers too late has taken the job all the same.
        found = found_by_name(submission, run)
        if found is None:
            raise
        number = str(found.id)
    submission = submission.model_copy(update={"id": number})
    book.note(submission=submission)
    return SlurmJob(run, submission)


def _refuse_other_cluster(run: RunDirectory, submission: Submission) -> None:
    """Nothing, if the Slurm that answers here can be the job's own: another one's job of that number is somebody's."""
    here = cluster_here() if submission.cluster is not None else None
    if here is not None and here != submission.cluster:
        name = submission.id or submission.name
        what = f"is job {name} of {submission.cluster}, and the Slurm here is that of {here}"
        mend = f"attach where the Slurm of {submission.cluster} answers"
        raise ProblemsError(Problem(place=Place(file=str(run.root)), rule="run-found", what=what, mend=mend))


def _found_process(run: RunDirectory, submission: Submission, target: str) -> ProcessJob:
    job = run.job()
    if submission.host != platform.node() and not (job and job.has_ended):
        what = f"runs on {submission.host}, as process {submission.id}, and this is {platform.node()}"
        mend = f"attach on {submission.host}"
        raise ProblemsError(Problem(place=Place(file=str(run.root)), rule="run-found", what=what, mend=mend))
    pid = int(submission.id or 0)
    if not is_launched_script(pid, run.root) and job is None:
        raise _lost(run, f"process {pid} is gone and left no record")
    return ProcessJob(run, pid, stop_s=_stop_s(target), child=None)


def _stop_s(target: str) -> float:
    return ssh.STOP_S if target == "ssh" else local.STOP_S


def _lost(run: RunDirectory, what: str) -> ProblemsError:
    mend = "read its log; launch the recipe again, in another run directory"
    return ProblemsError(Problem(place=Place(file=str(run.root)), rule="run-lost", what=what, mend=mend))
