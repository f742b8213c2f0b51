"""What two texts of one field of the stack have in common: a rule a field, each with its reason."""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, Literal

DriftStatus = Literal["same", "tolerated", "different", "unknown"]
_VERSION: Final = re.compile(r"(?<![\w.])v?(\d+(?:\.\d+)+)(?:\.?(?:dev|post|rc|a|b)\d+)?")
_COMMIT: Final = re.compile(r"\b[0-9a-f]{7,40}\b")
_PATCHED: Final = re.compile(r"\bpatch|\bplus\b|\bfix\b|backport|local changes")
_FABRICS: Final = ("EFA", "InfiniBand", "RoCE", "no RDMA", "Ethernet")
_DIFF: Final = re.compile(r"\(diff ([0-9a-f]+)\)")


def release(stated: str, found: str) -> tuple[DriftStatus, str]:
    """By the release alone: words around it (`CUDA 12.9 build`) tell of a build of the same release."""
    one, other = _version(stated), _version(found)
    if one is None or other is None:
        return "different", "other words"
    if one != other:
        return "different", f"release {'.'.join(one)} and {'.'.join(other)}"
    builds = _builds(stated), _builds(found)
    if all(builds) and builds[0] != builds[1]:
        return "different", f"built for CUDA {builds[0]} and {builds[1]}"
    return "tolerated", "the same release, described in other words"


def _padded(stated: str, found: str) -> tuple[DriftStatus, str]:
    """As precise as the less precise of the two: `3.12` and `3.12.3`, `12.9` and `12.9.86`."""
    one, other = _numbers(stated), _numbers(found)
    shared = min(len(one), len(other))
    if not shared or one[:shared] != other[:shared]:
        return release(stated, found)
    return "same", ""


def _python(stated: str, found: str) -> tuple[DriftStatus, str]:
    one, other = _numbers(stated), _numbers(found)
    if len(one) >= 2 and one[:2] == other[:2]:
        exact = min(len(one), len(other)) < 3 or one == other
        return ("same", "") if exact else ("tolerated", "patch releases of Python do not touch the training step")
    return release(stated, found)


def _commits(stated: str, found: str) -> tuple[DriftStatus, str]:
    """By commit where both name one; words beside it tell of patches."""
    one, other = _COMMIT.search(stated), _COMMIT.search(found)
    if one is None or other is None:
        if "commit" in stated + found or one or other:
            return "unknown", "only one side names a commit"
        return release(stated, found)
    shared = min(len(one[0]), len(other[0]))
    if one[0][:shared] != other[0][:shared]:
        return "different", f"commit {one[0]} and {other[0]}"
    if bool(_PATCHED.search(stated)) != bool(_PATCHED.search(found)):
        return "different", "the same commit, but only one side is patched on top"
    changes = [_DIFF.search(text) for text in (stated, found)]
    if changes[0] and changes[1] and changes[0][1] != changes[1][1]:
        return "different", "the same commit with other local changes"
    return "tolerated", "the same commit, described in other words"


def _driver(stated: str, found: str) -> tuple[DriftStatus, str]:
    one, other = _numbers(stated), _numbers(found)
    if one == other and one:
        return "same", ""
    if one[:1] and one[:1] == other[:1]:
        return "tolerated", f"patch releases of the {one[0]} branch"
    return release(stated, found)


def _image(stated: str, found: str) -> tuple[DriftStatus, str]:
    """By digest: tags move."""
    one, other = (re.search(r"[0-9a-f]{64}", text) for text in (stated, found))
    if one is None or other is None:
        return "unknown", "only digests can be compared"
    return ("same", "") if one[0] == other[0] else ("different", "another image")


def _network(stated: str, found: str) -> tuple[DriftStatus, str]:
    """By what both say of GPUs a node, fabric and rate."""
    one, other = _network_facts(stated), _network_facts(found)
    shared = [name for name in one if name in other]
    differ = [name for name in shared if one[name] != other[name]]
    if differ:
        return "different", ", ".join(f"{name} {one[name]} and {other[name]}" for name in differ)
    if not shared:
        return "unknown", "nothing that both say can be compared"
    return "tolerated", f"the same {' and '.join(shared)}, described in other words"


def _network_facts(text: str) -> dict[str, str]:
    gpus, rate = re.search(r"(\d+) GPUs?\b", text), re.search(r"(\d+(?:\.\d+)?) ?([TG])b/s", text)
    fabric = next((name for name in _FABRICS if name.lower() in text.lower()), None)
    facts = {
        "GPUs a node": gpus[1] if gpus else None,
        "fabric": fabric,
        "Gb/s": f"{float(rate[1]) * (1000 if rate[2] == 'T' else 1):g}" if rate else None,
    }
    return {name: value for name, value in facts.items() if value is not None}


def _kernel(stated: str, found: str) -> tuple[DriftStatus, str]:
    one, other = _numbers(stated), _numbers(found)
    if len(one) >= 2 and one[:2] == other[:2]:
        return "tolerated", "builds of one kernel release"
    return "different", "another kernel release"


def _operating_system(stated: str, found: str) -> tuple[DriftStatus, str]:
    one, other = _numbers(stated), _numbers(found)
    if one[:2] == other[:2] and stated.split()[:1] == found.split()[:1]:
        return "tolerated", "point releases of one operating system"
    return "different", "another operating system"


def _gpu_settings(stated: str, found: str) -> tuple[DriftStatus, str]:
    """Part by part; a part that only one side has says nothing."""
    one, other = ({_kind(part): part.strip() for part in text.split(",")} for text in (stated, found))
    differ = [f"{one[kind]} and {other[kind]}" for kind in one if kind in other and one[kind] != other[kind]]
    if differ:
        return "different", "; ".join(differ)
    return "tolerated", "the same as far as both say"


def _kind(part: str) -> str:
    """A setting without its value: `ECC Enabled` is `ECC`, `700 W` is `W`."""
    return re.sub(r"[\d.]+|Enabled|Disabled|and", "", part).strip()


_Rule = Callable[[str, str], tuple[DriftStatus, str]]
RULES: Final[Mapping[str, _Rule]] = MappingProxyType(
    {
        "framework": _commits,
        "megatron_lm": _commits,
        "cuda": _padded,
        "python": _python,
        "driver": _driver,
        "image": _image,
        "network": _network,
        "os": _operating_system,
        "gpu_settings": _gpu_settings,
        "kernel": _kernel,
    }
)


def _version(text: str) -> tuple[str, ...] | None:
    """The first release in a text: `2.28.9 (CUDA 12.9 build)` is 2.28.9; a pre-release word counts as part of it."""
    match = _VERSION.search(text)
    return tuple(match[0].removeprefix("v").split(".")) if match else None


def _numbers(text: str) -> tuple[str, ...]:
    match = re.search(r"\d+(?:\.\d+)*", text)
    return tuple(match[0].split(".")) if match else ()


def _builds(text: str) -> str | None:
    """The CUDA release that a build names, as `12.9`."""
    match = re.search(r"CUDA (\d+\.\d+)|\+cu(\d{2})(\d)", text)
    return None if match is None else match[1] or f"{match[2]}.{match[3]}"
