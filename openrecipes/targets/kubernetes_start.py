"""A RayJob created once, from the rendered bytes; and one that an earlier harness created, found again."""

import secrets
from contextlib import suppress
from typing import Final

import yaml

from openrecipes.layouts.degrees import nodes
from openrecipes.problems import OutsideError, Place, Problem, ProblemsError
from openrecipes.recipe.model import Recipe
from openrecipes.recipe.read import read_recipe
from openrecipes.runs.directory import RunDirectory
from openrecipes.runs.record import Submission
from openrecipes.targets.job import Book, Submitted
from openrecipes.targets.kubectl import (
    MISSING,
    answer,
    config_command,
    create_config_command,
    create_job_command,
    own_command,
    pinned,
    ran,
    words_of,
)
from openrecipes.targets.kubernetes import CONFIG
from openrecipes.targets.kubernetes_job import KubernetesJob
from openrecipes.targets.kubernetes_site import KubernetesSite
from openrecipes.targets.read_profile import read_profile
from openrecipes.targets.rendering import Prepared
from openrecipes.targets.submit import refuse_changed

# How kubectl begins where the API server has answered with a no; after anything else a RayJob may still come to be.
_REFUSALS: Final = tuple(
    f"Error from server ({reason})"
    for reason in ("Forbidden", "Invalid", "BadRequest", "NotFound", "Unauthorized", "MethodNotAllowed")
)
# A field manager's name holds 128 bytes.
_NAME_CHARACTERS: Final = 90


def created(book: Book, ready: Prepared) -> KubernetesJob:
    """The RayJob, its files and itself created from the bytes on disk; the record names its mark before it is.

    Raises: ProblemsError, and creates nothing, if those are not the rendered bytes; OutsideError with kubectl's
    own words where the cluster refuses it.
    """
    run, profile = book.run, ready.launch.profile
    if profile.kubernetes is None:
        raise ValueError("a profile without a kubernetes block is refused before it is rendered")
    refuse_changed(ready.rendered, run)
    site = pinned(profile.kubernetes)
    profile = profile.model_copy(update={"kubernetes": site})
    config = _config(run, site)
    mark = f"openrecipes-{run.root.name[:_NAME_CHARACTERS]}-{secrets.token_hex(8)}"
    command = create_job_command(site, run.rendered, mark)
    submission = Submission(
        kind="kubernetes", id=None, name=mark, host=site.namespace, cluster=site.context, command=command
    )
    book.note(outcome="running", submission=submission)
    job = KubernetesJob(run, submission, profile, pods=_pods(ready.launch.recipe))
    try:
        name = ran(command).strip().rpartition("/")[2]
    except OutsideError as error:
        _found_or_refused(job, error)
    else:
        book.note(submission=job.named(name))
    with suppress(OutsideError):
        status = job.look()
        if status is not None:
            ran(own_command(site, config, status.name, status.uid))
    book.note(submission=job.submission)
    return job


def found_job(run: RunDirectory, record: Submitted, *, pods: int | None = None) -> KubernetesJob:
    """The RayJob that a record tells of, by the profile in its directory. Raises: OutsideError without kubectl."""
    submission = record.submission
    if submission is None:
        raise ValueError("a run that was not submitted has no job")
    pods = _pods(read_recipe(run.recipe).recipe) if pods is None else pods
    profile = read_profile(run.cluster)
    if profile.kubernetes is not None and submission.cluster is not None:
        site = profile.kubernetes.model_copy(update={"context": submission.cluster})
        profile = profile.model_copy(update={"kubernetes": site})
    job = KubernetesJob(run, submission, profile, pods=pods)
    job.look()
    return job


def _pods(recipe: Recipe) -> int:
    return nodes(recipe.gpu.count, recipe.gpu.per_node)


def _config(run: RunDirectory, site: KubernetesSite) -> str:
    """Name of the ConfigMap, once it is there with exactly the rendered data.

    Raises: OutsideError where it cannot be created; ProblemsError where another one has its name.
    """
    document = yaml.safe_load((run.rendered / CONFIG).read_text(encoding="utf-8"))
    name = str(document["metadata"]["name"])
    try:
        ran(create_config_command(site, run.rendered))
    except OutsideError as error:
        if "AlreadyExists" not in words_of(error):
            raise
        if answer(config_command(site, name)).get("data") != document["data"]:
            what = f"the cluster has a ConfigMap {name} in {site.namespace} with other files in it"
            mend = f"delete it if it is nobody's: kubectl -n {site.namespace} delete configmap {name}"
            raise ProblemsError(Problem(place=Place(file=name), rule="target-config", what=what, mend=mend)) from error
    return name


def _found_or_refused(job: KubernetesJob, error: OutsideError) -> None:
    """Nothing, if the RayJob is there all the same, or may still come to be: then the job itself goes on looking.

    Raises: the error, where the API server itself refused.
    """
    if any(problem.rule == MISSING for problem in error.problems):
        raise error
    try:
        is_there = job.look() is not None
    except OutsideError:
        return
    if not is_there and words_of(error).startswith(_REFUSALS):
        raise error
