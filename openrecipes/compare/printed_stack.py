"""What a run's log says of its stack: NCCL and the network below it print their versions where they are told to."""

import re
from itertools import islice
from typing import Final

from openrecipes.logs.passages import passages

_STEMS: Final = (b"NCCL version ", b"aws-ofi-nccl ", b"Libfabric version ")
_SAID: Final = {
    "nccl": re.compile(r"\bNCCL version (\d[\w.]{2,30}(?:\+cuda\d[\d.]{0,8})?)"),
    "aws_ofi_nccl": re.compile(r"\baws-ofi-nccl (\d[\w.+-]{2,30})"),
    "libfabric": re.compile(r"\bLibfabric version (\d[\w.+-]{0,30})"),
}
# Every rank prints them; the first say what all have.
_MOST: Final = 1000


def printed_stack(source: str) -> dict[str, str]:
    """The fields of `stack` that the log itself states, each as it was printed first."""
    found: dict[str, str] = {}
    for passage in islice(passages([source], _STEMS, _said), _MOST):
        name, version = passage.note
        found.setdefault(name, version)
    return found


def _said(line: str) -> tuple[str, str] | None:
    for name, pattern in _SAID.items():
        match = pattern.search(line)
        if match:
            release, _, build = match[1].partition("+cuda")
            return name, f"{release} (CUDA {build} build)" if build else release
    return None
