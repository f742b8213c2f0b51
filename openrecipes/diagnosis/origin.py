"""Which rank, node and process a line of trouble comes from."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final

_RANK: Final = re.compile(r"(?<![\w_])[Rr]ank[ :=_-]{0,4}(\d{1,6})\b")
_SRUN: Final = re.compile(r"srun: error: ([\w.-]{1,80}): tasks? (\d{1,6})\b")
_RANK_WRITER: Final = re.compile(r"(?:rank)?(\d{1,6})")
_RANK_FILE: Final = re.compile(r"(?:^|[^a-z])(?:rank|task)[-_.]?(\d{1,6})(?!\d)", re.IGNORECASE)
_NODE_FILE: Final = re.compile(r"(?:^|[^a-z])((?:node|host|worker)[-_.]?\d{1,6})(?!\d)", re.IGNORECASE)
_PID: Final = re.compile(r"(?:\(|, |\b)(?:[Ww]orker PID|pid)[:= ]{1,3}(\d{1,10})\b")
_IP: Final = re.compile(r"(?:Worker IP address: |ip=|ip: )([\da-fA-F.:]{3,45}[\da-fA-F])")
_NODE: Final = re.compile(r"\bnode ([A-Za-z][\w.-]{1,80})|\bON ([\w.-]{1,80}) CANCELLED|\bhost {1,8}: ([\w.-]{1,80})")
_NCCL_HOST: Final = re.compile(r"\b([A-Za-z][\w.-]{0,80}):(\d{1,9}):\d{1,9} \[\d{1,3}\]")
_NOT_HOSTS: Final = frozenset({"in", "has", "with", "running", "type", "types", "died", "was", "is", "and", "of"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Origin:
    """Where a line comes from; None is not said."""

    rank: int | None = None
    node: str | None = None
    pid: int | None = None

    def over(self, other: "Origin") -> "Origin":
        """This origin, its gaps filled from another."""
        return Origin(
            rank=self.rank if self.rank is not None else other.rank,
            node=self.node or other.node,
            pid=self.pid if self.pid is not None else other.pid,
        )


NOWHERE: Final = Origin()


def origin(text: str, *, writer: str, before: str, file: str) -> Origin:
    """The origin by the line itself, then its prefix, then the two lines before it, then the file's name."""
    return _of_text(text).over(_of_writer(writer)).over(_of_report(before)).over(_of_file(file))


def pid_and_rank(text: str, writer: str) -> tuple[int, str] | None:
    """Process id and what the line says of its rank: `3`, or `tp,pp`; None where one of them is missing."""
    pid = _of_writer(writer).pid
    if pid is None:
        return None
    own = re.search(r"\[Rank (\d{1,6})\]", text)
    if own:
        return pid, own[1]
    within = re.search(r"parallel rank \((\d{1,6}), ?(\d{1,6})\)", text)
    return (pid, f"{within[1]},{within[2]}") if within else None


def global_rank(said: str, arguments: Mapping[str, str]) -> int | None:
    """The rank that a process said: its own, or that of its tensor and pipeline place with data rank 0.

    Ranks run tensor first and pipeline last, so pipeline stage k of P begins at k x world / P.
    """
    if "," not in said:
        return int(said)
    world, stages = arguments.get("world_size", ""), arguments.get("pipeline_model_parallel_size", "")
    if not (world.isdecimal() and stages.isdecimal() and len(world) < 9 and len(stages) < 9 and int(stages)):
        return None
    tensor, stage = (int(part) for part in said.split(","))
    return stage * (int(world) // int(stages)) + tensor


def _of_text(text: str) -> Origin:
    text = text[:4000]
    task = _SRUN.search(text)
    if task:
        return Origin(rank=int(task[2]), node=task[1])
    rank, pid, ip, named = _RANK.search(text), _PID.search(text), _IP.search(text), _NODE.search(text)
    node = ip[1] if ip else next((name for name in named.groups() if name), None) if named else None
    nccl = _NCCL_HOST.search(text)
    return Origin(
        rank=int(rank[1]) if rank else None,
        node=(node if node not in _NOT_HOSTS else None) or (nccl[1] if nccl else None),
        pid=int(pid[1]) if pid else (int(nccl[2]) if nccl else None),
    )


def _of_writer(writer: str) -> Origin:
    rank, pid, ip = _RANK_WRITER.fullmatch(writer), _PID.search(writer), _IP.search(writer)
    return Origin(rank=int(rank[1]) if rank else None, node=ip[1] if ip else None, pid=int(pid[1]) if pid else None)


def _of_report(before: str) -> Origin:
    """From the lines of torchrun's report, which stand above its exit code."""
    rank = re.search(r"^ {0,8}rank {1,8}: (\d{1,6})", before, re.MULTILINE)
    host = re.search(r"^ {0,8}host {1,8}: ([\w.-]{1,80})", before, re.MULTILINE)
    return Origin(rank=int(rank[1]) if rank else None, node=host[1] if host else None)


def _of_file(file: str) -> Origin:
    path = PurePath(file)
    near = "/".join(path.parts[-3:])
    rank, node = _RANK_FILE.search(near), _NODE_FILE.search(near)
    return Origin(rank=int(rank[1]) if rank else None, node=node[1] if node else None)
