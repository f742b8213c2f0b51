"""A RayJob that was created: how it stands, its log and files, how it is ended."""

import time
from contextlib import suppress
from pathlib import PurePosixPath
from typing import Any, Final

from openrecipes.problems import OutsideError
from openrecipes.runs.directory import RunDirectory
from openrecipes.runs.json_files import write_json
from openrecipes.runs.record import Submission
from openrecipes.targets.job import JobState
from openrecipes.targets.kubectl import answer, delete_command, job_command, jobs_command, ran, words_of
from openrecipes.targets.kubernetes_files import RunFiles
from openrecipes.targets.kubernetes_site import KubernetesSite
from openrecipes.targets.kubernetes_status import JobStatus, is_marked, job_status, pods_words
from openrecipes.targets.profile import Profile

# How often the API server and a pod are asked.
_ASK_S: Final = 2.0
# And the submitter for its whole log, where no pod may be asked.
_LOGS_S: Final = 15.0
# A creation whose answer was lost may still be under way in the API server for so long.
_UNDER_WAY_S: Final = 60.0
# The entry script ends the trainer, and all that it started, within twice its grace.
_SCRIPT_END_S: Final = 45.0


class KubernetesJob:
    """One RayJob, by its name and its mark. Without a name it was created and the answer was lost, or it was not."""

    stop_s: Final = 120.0
    outlives_terminal: Final = True
    exit_status: Final = None

    def __init__(self, run: RunDirectory, submission: Submission, profile: Profile, *, pods: int) -> None:
        if profile.kubernetes is None or submission.name is None:
            raise ValueError("a job on Kubernetes has a site and a mark")
        self._run = run
        self._submission = submission
        self._site: KubernetesSite = profile.kubernetes
        self._root = PurePosixPath(profile.paths.runs or "/")
        self._pods = pods
        self._mark = submission.name
        self._began = time.monotonic()
        self._asked = float("-inf")
        self._state = JobState(phase="queued", words="submitted")
        self._status: JobStatus | None = None
        self._document: dict[str, Any] = {}
        self._files: RunFiles | None = None
        self._was_asked_to_end = False
        self._logs_asked = float("-inf")

    @property
    def submission(self) -> Submission:
        """Its name and mark, the folder of its files, and how it ended once that is known."""
        return self._submission

    def named(self, name: str) -> Submission:
        """The submission, now that the API server has given the RayJob its name."""
        self._submission = self._submission.model_copy(update={"id": name})
        return self._submission

    def state(self) -> JobState:
        """As the API server has it; as it was, where that does not answer."""
        now = time.monotonic()
        if self._state.phase == "ended" or now - self._asked < _ASK_S:
            return self._state
        try:
            self.look()
            self._state = self._read()
        except OutsideError as error:
            self._state = JobState(phase=self._state.phase, words=f"no answer: {words_of(error)}")
        self._asked = time.monotonic()
        return self._state

    def look(self) -> JobStatus | None:
        """What the RayJob says; None where there is none of ours. Raises: OutsideError."""
        name = self._submission.id
        found = [answer(job_command(self._site, name))] if name else answer(jobs_command(self._site)).get("items") or []
        document = next((one for one in found if is_marked(one, self._mark)), None)
        if document is None:
            self._status = None
            return None
        self._document, self._status = document, job_status(document)
        changes: dict[str, object] = {"id": self._status.name}
        if self._status.ray_cluster:
            folder = str(self._root / self._status.ray_cluster)
            changes["folder"] = folder
            if self._files is None:
                self._files = RunFiles(self._run, self._site, folder, self._status.ray_cluster)
        self._submission = self._submission.model_copy(update=changes)
        return self._status

    def ask_to_end(self) -> None:
        """TERM to the entry script, which records its end; a job that has not come so far is deleted."""
        self._was_asked_to_end = True
        self._asked = float("-inf")
        if not self._script_was_told():
            self._delete()

    def kill(self) -> None:
        """Brings what there is, and deletes the RayJob: KubeRay takes its pods down."""
        self._collect()
        self._delete()

    def clean_up(self) -> None:
        """Brings here what the run left; one that was stopped is deleted then, since its pods would stay a while."""
        if self._submission.ended_as is not None:
            return
        status = self._status
        if status is not None and status.outcome == "failed":
            self._settle()
        missing = self._collect()
        said = status.ended_as if status is not None else self._absent
        if missing is not None:
            said = f"{said}, and what it left was not collected: {missing}"
        self._submission = self._submission.model_copy(update={"ended_as": said[:1000]})
        if self._was_asked_to_end:
            self._delete()

    @property
    def _absent(self) -> str:
        return "DELETED" if self._submission.id else "NOT CREATED"

    def _read(self) -> JobState:
        status = self._status
        if status is None:
            if self._submission.id is None and time.monotonic() - self._began < _UNDER_WAY_S:
                return JobState(phase="queued", words="whether it was created is not known yet")
            return JobState(phase="ended", words=self._absent)
        if status.outcome in ("succeeded", "failed"):
            return JobState(phase="ended", words=status.words)
        if self._files is None:
            return JobState(phase="queued", words=f"{status.name}: {status.words}")
        if status.outcome == "running":
            why = self._pull(self._files)
            return JobState(phase="running", words=f"RayJob {status.name}{why}")
        found = self._files.pods()
        words = f"{status.name}: {pods_words(found, self._pods)}"
        return JobState(phase="running" if any(pod.runs for pod in found) else "queued", words=words)

    def _pull(self, files: RunFiles) -> str:
        """Brings what is new in the log, by way of the submitter where no pod may be asked; why so, in words."""
        try:
            files.pull()
        except OutsideError as error:
            # The job goes on; its log is brought with the rest, at the latest.
            if time.monotonic() - self._logs_asked > _LOGS_S:
                self._logs_asked = time.monotonic()
                with suppress(OutsideError):
                    files.submitter_log(self._submission.id or "")
            return f"; no pod can be asked for its log: {words_of(error)}"
        return ""

    def _script_was_told(self) -> bool:
        try:
            return self._files is not None and self._files.ask_script_to_end()
        except OutsideError:
            return False

    def _settle(self) -> None:
        """Lets a script end that KubeRay gave up: its pods go on for a while, with the trainer in them."""
        if self._files is None:
            return
        end = time.monotonic() + _SCRIPT_END_S
        told = False
        while time.monotonic() < end:
            try:
                self._files.pull()
            except OutsideError:
                return
            job = self._run.job()
            if job is None or job.has_ended:
                return
            told = told or self._script_was_told()
            if not told:
                return
            time.sleep(0.5)

    def _collect(self) -> str | None:
        """Brings everything here; why not all of it could be."""
        if self._document:
            write_json(self._run.log.parent / "rayjob.json", self._document)
        if self._files is None:
            return None
        missing = None
        try:
            self._files.collect()
        except OutsideError as error:
            missing = words_of(error)
        with suppress(OutsideError):
            self._files.submitter_log(self._submission.id or "")
        if self._status is not None and self._status.outcome == "failed":
            with suppress(OutsideError):
                self._files.collect_ray_logs()
        return missing

    def _delete(self) -> None:
        """Deletes the RayJob, and no other that has its name; one that cannot be deleted is left to its deadline."""
        try:
            if self.look() is not None and self._submission.id is not None:
                ran(delete_command(self._site, self._submission.id))
        except OutsideError:
            return
