"""Degrees of parallelism: how many GPUs they take, what follows from them, and their label."""

import re
from dataclasses import dataclass
from typing import Final, Self

# Always written, in this order; those of _WHERE_ABOVE_ONE only where they are not 1.
_LABEL_ORDER: Final = ("tp", "pp", "vpp", "cp", "ep", "etp", "dp")
_WHERE_ABOVE_ONE: Final = frozenset({"vpp", "cp", "etp"})
_LABEL_PART: Final = re.compile(r"(TP|PP|VPP|CP|EP|ETP|DP)([1-9][0-9]{0,6})")


@dataclass(frozen=True, kw_only=True, slots=True)
class Degrees:
    """The degrees of one layout, each 1 or more.

    tp, pp, cp and dp split the GPUs of the dense part; ep and etp split the same GPUs once more for the
    experts; vpp is the number of model chunks a pipeline stage holds and takes no GPUs.
    """

    tp: int = 1
    pp: int = 1
    vpp: int = 1
    cp: int = 1
    ep: int = 1
    etp: int = 1
    dp: int = 1

    def __post_init__(self) -> None:
        for name in _LABEL_ORDER:
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}, but must be 1 or more")

    @property
    def gpus(self) -> int:
        """GPUs that the layout takes: tp x pp x cp x dp."""
        return self.tp * self.pp * self.cp * self.dp

    @property
    def edp(self) -> int:
        """Expert data parallelism: copies of each expert.

        Raises: ValueError if etp x ep x pp does not divide the GPUs.
        """
        return expert_data_parallel(self.gpus, etp=self.etp, ep=self.ep, pp=self.pp)

    @property
    def label(self) -> str:
        """The layout in short: `TP2 PP4 EP32 DP16`; VPP, CP and ETP appear where they are not 1."""
        shown = (name for name in _LABEL_ORDER if name not in _WHERE_ABOVE_ONE or getattr(self, name) != 1)
        return " ".join(f"{name.upper()}{getattr(self, name)}" for name in shown)

    @classmethod
    def from_label(cls, label: str) -> Self:
        """The degrees that a label names; those it leaves out are 1.

        Raises: ValueError at a part that is no degree, or a degree named twice.
        """
        found: dict[str, int] = {}
        for part in label.split():
            match = _LABEL_PART.fullmatch(part)
            if match is None:
                raise ValueError(f"{part} in the label {label!r} is no degree such as TP2 or EP32")
            name = match[1].lower()
            if name in found:
                raise ValueError(f"the label {label!r} names {match[1]} twice")
            found[name] = int(match[2])
        if not found:
            raise ValueError("the label is empty")
        return cls(**found)


def data_parallel(gpus: int, *, tp: int, pp: int, cp: int) -> int:
    """dp: GPUs / (tp x pp x cp).

    Raises: ValueError if that is not a whole number of 1 or more.
    """
    return _share(gpus, tp * pp * cp, f"tp {tp} x pp {pp} x cp {cp}")


def expert_data_parallel(gpus: int, *, etp: int, ep: int, pp: int) -> int:
    """Copies of each expert: GPUs / (etp x ep x pp).

    Raises: ValueError if that is not a whole number of 1 or more.
    """
    return _share(gpus, etp * ep * pp, f"etp {etp} x ep {ep} x pp {pp}")


def gpus_of_a_node(gpus: int, per_node: int) -> int:
    """GPUs that are taken of each node: all that it has, or fewer where one node holds them all."""
    return min(gpus, per_node)


def nodes(gpus: int, per_node: int) -> int:
    """Whole nodes that hold the GPUs.

    Raises: ValueError if the last node would be partly filled, unless one node holds them all.
    """
    if gpus < 1 or per_node < 1:
        raise ValueError(f"{gpus} GPUs, {per_node} a node: both must be 1 or more")
    if gpus <= per_node:
        return 1
    return _share(gpus, per_node, f"per_node {per_node}")


def _share(gpus: int, group: int, words: str) -> int:
    if gpus < 1 or group < 1 or gpus % group:
        raise ValueError(f"{gpus} GPUs do not divide by {words} = {group}")
    return gpus // group
