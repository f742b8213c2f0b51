"""Says which parts of this image are not the pinned ones, and ends with 1 if any is.

    python3 verify_pins.py torch=2.11.0 cuda=12.9 /root/slime=a897e1f4…

A name is a distribution, `python`, `cuda` (of the installed PyTorch), or the path of a git checkout. It imports no
GPU library, so it runs while an image is built, where there is no GPU. The standard library only.
"""

import platform
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path


def installed(name: str) -> str:
    """The version or commit that is there; `absent` where there is none."""
    if name == "python":
        return platform.python_version()
    if name == "cuda":
        return torch_cuda()
    if name.startswith("/"):
        ran = subprocess.run(["git", "-C", name, "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
        return ran.stdout.strip() or "absent"
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "absent"


def torch_cuda() -> str:
    """The CUDA version that PyTorch was built for, from its version.py: nothing is imported."""
    try:
        text = Path(str(metadata.distribution("torch").locate_file("torch/version.py"))).read_text(encoding="utf-8")
    except (metadata.PackageNotFoundError, OSError):
        return "absent"
    found = re.search(r"^cuda\s*(?::[^=]*)?=\s*['\"]([0-9.]+)['\"]", text, re.MULTILINE)
    return found[1] if found else "absent"


def holds(pin: str, found: str) -> bool:
    """Whether a version is the pinned one; `3.12` holds for 3.12.4, and `2.11.0` for 2.11.0+cu129."""
    public = found.partition("+")[0]
    return public == pin or public.startswith(f"{pin}.")


def main(pins: list[str]) -> int:
    """Prints a line for each pin that does not hold."""
    wrong = 0
    for text in pins:
        name, _, pin = text.partition("=")
        found = installed(name)
        if not pin or not holds(pin, found):
            wrong += 1
            print(f"{name}: pinned {pin or 'to nothing'}, but here is {found}", file=sys.stderr)
    print(f"{len(pins) - wrong} of {len(pins)} pins hold")
    return 1 if wrong or not pins else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
