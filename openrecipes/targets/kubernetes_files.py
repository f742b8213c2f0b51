"""What a run on Kubernetes leaves on its shared volume, brought here as it grows and at its end.

From the volume itself where this machine mounts it, else through a pod of the run; without either, the log alone
from the job's submitter.
"""

import fcntl
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

from openrecipes.problems import OutsideError, Place, Problem
from openrecipes.runs.directory import RunDirectory
from openrecipes.runs.json_files import sha256_of, write_atomically
from openrecipes.targets.kubectl import COPY_S, answer, exec_command, log_command, pods_command, ran_into
from openrecipes.targets.kubernetes_site import KubernetesSite
from openrecipes.targets.kubernetes_status import Pod, pods
from openrecipes.targets.taken_files import CannotTakeError, copy, of_ray, unpack

_LOG: Final = "log/train.log"
_PIECE_BYTES: Final = 8 * 2**20
_ATTEMPTS: Final = 3
_QUESTION_S: Final = 60.0
# Scripts of a pod's bash; what follows them are $1, $2 …
_TAIL: Final = 'if [ -f "$2" ]; then tail -c "+$1" -- "$2" | head -c "$3"; fi'
_HASH: Final = 'if [ -f "$1" ]; then sha256sum <"$1"; fi'
# `tar` says 1 of a file that grew while it was read, as a sampler's does.
_PACK: Final = 'tar -C "$1" --exclude=./log/train.log -cf - . || [ $? -eq 1 ]'
_RAY_LOGS: Final = "tar -C /tmp/ray/session_latest -cf - logs || [ $? -eq 1 ]"
_ASK: Final = 'pid=$(sed -n \'s/.*"end_unix_s": null.*"pid": \\([0-9]*\\).*/\\1/p\' "$1/job.json") && kill -TERM "$pid"'


class RunFiles:
    """The folder of one run on the pods' volume."""

    def __init__(self, run: RunDirectory, site: KubernetesSite, folder: str, ray_cluster: str) -> None:
        self.folder = folder
        self._run = run
        self._site = site
        self._ray_cluster = ray_cluster
        self._pod: str | None = None
        self._log_is_submitters = False

    def pods(self) -> tuple[Pod, ...]:
        """The pods of the run, the head first. Raises: OutsideError."""
        return pods(answer(pods_command(self._site, self._ray_cluster)))

    def pull(self) -> None:
        """Brings what is new in the log, and the job's record. Raises: OutsideError; what is here already stays."""
        with self._alone() as is_alone:
            if not is_alone:
                return
            while piece := self._read(_LOG, self._size()):
                with self._run.log.open("wb" if self._log_is_submitters else "ab") as log:
                    log.write(piece)
                self._log_is_submitters = False
                if len(piece) < _PIECE_BYTES:
                    break
            job = self._run.job()
            if (job is None or not job.has_ended) and (text := self._read("job.json", 0)):
                write_atomically(self._run.job_file, text)

    def ask_script_to_end(self) -> bool:
        """TERM to the entry script, which ends what it started and records it; whether it was told."""
        head = next((pod.name for pod in self.pods() if pod.is_head and pod.runs), None)
        if head is None:
            return False
        try:
            self._printed(exec_command(self._site, head, "bash", "-c", _ASK, "stop", self.folder))
        except OutsideError:
            return False
        return True

    def collect(self) -> None:
        """Brings everything that the run left. Raises: OutsideError with why not, after some attempts."""
        for attempt in range(_ATTEMPTS):
            try:
                self.pull()
                self._collect_once()
                return
            except OutsideError:
                if attempt == _ATTEMPTS - 1:
                    raise

    def collect_ray_logs(self) -> None:
        """Brings the logs of Ray's own processes from each pod that still runs; they lie on no volume."""
        for pod in self.pods():
            if pod.runs:
                command = exec_command(self._site, pod.name, "bash", "-c", _RAY_LOGS)
                try:
                    with self._into_file(command, COPY_S) as packed, _told():
                        unpack(packed, self._run.log.parent / "ray" / pod.name, of_ray)
                except OutsideError:
                    continue

    def submitter_log(self, name: str) -> None:
        """Brings the log of the job's submitter; it is the run's log where nothing else of that comes here."""
        path = self._run.log.parent / "submitter.log"
        with self._into_file(log_command(self._site, name), COPY_S) as text, path.open("wb") as out:
            shutil.copyfileobj(text, out)
        self._log_is_submitters = self._log_is_submitters or not self._size()
        if self._log_is_submitters:
            write_atomically(self._run.log, path.read_bytes())

    def _collect_once(self) -> None:
        if self._is_mounted:
            with _told():
                copy(Path(self.folder), self._run.root)
        else:
            with self._asked(_PACK, "pack", self.folder, limit_s=COPY_S) as packed, _told():
                unpack(packed, self._run.root)
        # Bring the whole log again, if what came in pieces is not what lies there.
        there = self._log_sha256()
        if there is not None and (not self._run.log.exists() or there != sha256_of(self._run.log)):
            write_atomically(self._run.log, b"")
            self.pull()

    def _log_sha256(self) -> str | None:
        if self._is_mounted:
            path = Path(self.folder, _LOG)
            return sha256_of(path) if path.is_file() else None
        with self._asked(_HASH, "hash", f"{self.folder}/{_LOG}") as out:
            words = out.read().decode(errors="replace").split()
        return words[0] if words else None

    def _size(self) -> int:
        """Bytes of the run's log that are here."""
        is_here = self._run.log.exists() and not self._log_is_submitters
        return self._run.log.stat().st_size if is_here else 0

    def _read(self, name: str, offset: int) -> bytes:
        """A piece of a file of the run; empty where it is not there."""
        if self._is_mounted:
            path = Path(self.folder, name)
            if not path.is_file():
                return b""
            with path.open("rb") as file:
                file.seek(offset)
                return file.read(_PIECE_BYTES)
        with self._asked(_TAIL, "tail", str(offset + 1), f"{self.folder}/{name}", str(_PIECE_BYTES)) as out:
            return out.read()

    @contextmanager
    def _asked(self, script: str, *words: str, limit_s: float = _QUESTION_S) -> Iterator[IO[bytes]]:
        """What a script in a pod prints; any pod sees the volume, and the head is asked first."""
        if self._pod is None:
            self._pod = next((pod.name for pod in self.pods() if pod.runs), None)
        if self._pod is None:
            raise _outside(f"no pod of {self._ray_cluster} runs any more, and {self.folder} is not mounted here")
        command = exec_command(self._site, self._pod, "bash", "-c", script, *words)
        try:
            with self._into_file(command, limit_s) as out:
                yield out
        except OutsideError:
            self._pod = None
            raise

    @contextmanager
    def _into_file(self, command: tuple[str, ...], limit_s: float) -> Iterator[IO[bytes]]:
        with tempfile.TemporaryFile(dir=self._run.root) as out:
            ran_into(command, out, limit_s=limit_s)
            out.seek(0)
            yield out

    def _printed(self, command: tuple[str, ...]) -> bytes:
        with self._into_file(command, _QUESTION_S) as out:
            return out.read()

    @property
    def _is_mounted(self) -> bool:
        return Path(self.folder).is_dir()

    @contextmanager
    def _alone(self) -> Iterator[bool]:
        """Whether no other harness brings the log at this moment: two that follow one run would write it twice."""
        with (self._run.log.parent / ".pull.lock").open("ab") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                yield False
                return
            yield True


@contextmanager
def _told() -> Iterator[None]:
    """Says of the run's folder what could not be taken from it."""
    try:
        yield
    except CannotTakeError as error:
        mend = "look at the run's folder on the cluster's volume"
        problem = Problem(place=Place(), rule="run-files", what=f"the run's folder gave {error}", mend=mend)
        raise OutsideError(problem) from error


def _outside(what: str) -> OutsideError:
    mend = "mount the volume here, or copy the folder from the cluster by hand"
    return OutsideError(Problem(place=Place(), rule="run-files", what=what, mend=mend))
