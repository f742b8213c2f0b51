"""Names that Kubernetes and KubeRay take, from names that recipes have."""

import re
from typing import Final

# KubeRay refuses a RayJob whose name is longer; `generateName` adds five characters to its prefix.
MOST_CHARACTERS: Final = 47
_ADDED: Final = 5


def dns_1035(text: str, most: int = MOST_CHARACTERS) -> str:
    """The text as a DNS-1035 label: lower case, digits and dashes, a letter first, at most so many characters.

    `qwen3.5-397b` becomes `qwen3-5-397b`.
    """
    plain = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    named = plain if plain[:1].isascii() and plain[:1].isalpha() else f"r-{plain}".rstrip("-")
    return named[:most].rstrip("-")


def job_prefix(model: str, label: str) -> str:
    """The prefix that the API server completes to a RayJob's name: model and layout, then a dash."""
    return dns_1035(f"{model}-{label}", MOST_CHARACTERS - _ADDED - 1) + "-"


def config_name(model: str, label: str, sha256: str) -> str:
    """Name of the ConfigMap: model, layout and ten digits of its content's hash, so equal names hold equal files."""
    return f"{dns_1035(f'{model}-{label}', MOST_CHARACTERS - 11)}-{sha256[:10]}"


def config_key(path: str) -> str:
    """The key of a file in a ConfigMap, which takes no slash; `signs/stems.txt` becomes `signs.stems.txt`."""
    return path.replace("/", ".")
