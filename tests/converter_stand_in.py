"""A `python` that stands in for torchrun with slime's converter, one process a node, and runs all else for real.

PLAY in the environment says what it does: `whole` (the default), `die` half-way on the last node, `hang` half-way,
`hollow` (ends with 0 and without a tracker). STEP_S is the time that a node takes for its shard, WEIGHT_BYTES what all
shards hold together; SAYS is printed.
"""

import shlex
import sys
from pathlib import Path

CONVERTER = """
import json, os, sys, time
from pathlib import Path


def word(flag, default=None):
    return sys.argv[sys.argv.index(flag) + 1] if flag in sys.argv else default


play, nodes, rank = os.environ.get("PLAY", "whole"), int(word("--nnodes", "1")), int(word("--node-rank", "0"))
save = Path(word("--save"))
seen = save.parent / f"seen-{rank}.json"
seen.write_text(json.dumps({"argv": sys.argv[1:], "cwd": os.getcwd(), "env": dict(os.environ)}))
print("stand-in on node", rank, "of", nodes, flush=True)
print(os.environ.get("SAYS", ""), flush=True)
inside = save / "iter_0000001"
inside.mkdir(exist_ok=True)
with open(inside / f"__{rank}_0.distcp", "wb") as shard:
    shard.truncate(int(os.environ["WEIGHT_BYTES"]) // nodes + 1)
time.sleep(float(os.environ.get("STEP_S", "0.01")))
if play == "die" and rank == nodes - 1:
    sys.exit(9)
if play in ("die", "hang"):  # the others wait for that one
    time.sleep(600)
if rank == 0:
    while len(list(inside.glob("*.distcp"))) < nodes:
        time.sleep(0.05)
    if play != "hollow":
        time.sleep(0.2)
        (inside / ".metadata").write_bytes(b"index")
        (save / "latest_checkpointed_iteration.txt").write_text("release")
        inside.rename(save / "release")
"""

PYTHON = """#!/bin/bash
if [ "$1 $2" = "-m torch.distributed.run" ]; then exec @PYTHON@ @CONVERTER@ "${@:3}"; fi
exec @PYTHON@ "$@"
"""


def install(folder: Path) -> Path:
    """The path of that python; beside it lie empty checkouts `slime` and `megatron`."""
    for name in ("slime", "megatron"):
        (folder / name).mkdir(exist_ok=True)
    (folder / "converter.py").write_text(CONVERTER)
    python = folder / "python 3"
    text = PYTHON.replace("@PYTHON@", shlex.quote(sys.executable))
    python.write_text(text.replace("@CONVERTER@", shlex.quote(str(folder / "converter.py"))))
    python.chmod(0o755)
    return python
