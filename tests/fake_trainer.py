"""Programs that stand in for a trainer's: `python3` as a launch calls it, `ray`, and a trainer that plays a part.

PLAY in the recipe's environment says which: `steps` (the default), `hang`, `deaf` to TERM, `orphan` (leaves one),
`raise` (prints a traceback, then its steps), `stall` (never ends after them), `raise-stall` (both), `linger` (leaves a
process that on TERM loses its environment and lives on for LINGER_S).
STEPS, STATUS and STEP_S say how many steps, the exit status, and how long a step takes; SAYS what is raised. As slime
does, it prints the records of the rollouts, which are ahead of its steps; FIRST_S lie between the first of both.
"""

import shlex
import sys
from pathlib import Path

TRAINER = """
import json, os, signal, subprocess, sys, time
seen = os.path.join(os.environ["OPENRECIPES_RUN_DIR"], "log", "seen.json")
with open(seen + ".new", "w") as file:
    files = {word: os.path.getsize(word) for word in sys.argv[1:] if os.path.isfile(word)}
    seen_now = {"argv": sys.argv[1:], "env": dict(os.environ), "cwd": os.getcwd(), "pid": os.getpid(), "files": files}
    json.dump(seen_now, file)
os.replace(seen + ".new", seen)
play = os.environ.get("PLAY", "steps")
if play == "deaf":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if play in ("orphan", "deaf"):
    deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
    subprocess.Popen([sys.executable, "-c", deaf], start_new_session=True)
if play in ("hang", "deaf"):
    time.sleep(600)
if play == "linger":
    mark = os.path.join(os.path.dirname(seen), "lingers")
    lives_on = f"trap 'exec env -i sleep {os.environ['LINGER_S']}' TERM; echo $$ >{mark!r}; while :; do sleep 0.1; done"
    subprocess.Popen(["bash", "-c", lives_on], start_new_session=True)
    while not os.path.exists(mark):
        time.sleep(0.01)
if play.startswith("raise"):
    print("Traceback (most recent call last):\\n  File 'train.py', line 1, in <module>")
    print(os.environ.get("SAYS", "ValueError: made up"), flush=True)
step_s, steps = float(os.environ.get("STEP_S", "0.002")), int(os.environ.get("STEPS", "14"))
def fed(n):
    stamp = time.strftime("[%Y-%m-%d %H:%M:%S]")
    rows = {"rollout/response_len/mean": 4940.0, "perf/rollout_time": 0.1}
    print(f"{stamp} rollout.py:1303 - perf {n}: {rows}", flush=True)
for n in range(min(2, steps)):
    fed(n)
time.sleep(float(os.environ.get("FIRST_S", "0")))
for n in range(steps):
    time.sleep(step_s)
    stamp = time.strftime("[%Y-%m-%d %H:%M:%S]")
    if n + 2 < steps:
        fed(n + 2)
    step = {"train/loss": 1.5, "train/grad_norm": 0.5, "train/lr-pg_0": 1e-5, "train/step": n}
    perf = {"perf/train_wait_time": 0.0, "perf/train_time": step_s, "perf/step_time": step_s}
    print(f"{stamp} model.py:9 - step {n}: {step}")
    print(f"{stamp} train_metric_utils.py:50 - perf {n}: {perf}", flush=True)
print("to stderr", file=sys.stderr)
if play.endswith("stall"):
    time.sleep(600)
sys.exit(int(os.environ.get("STATUS", "0")))
"""

PYTHON = """#!/bin/bash
case "$1:$2" in
  *capture_environment.py:*) printf '{%s}\\n' "${OPENRECIPES_IMAGE:+\\"image\\": \\"$OPENRECIPES_IMAGE\\"}" >"$3" ;;
  *ray_cluster.py:wait) exit "${JOIN_STATUS:-0}" ;;
  *node_network.py:*) exec @PYTHON@ "$@" ;;
  -c:import*) exit 0 ;;
  -m:ray.scripts.scripts) exec "${0%/*}/ray" "${@:3}" ;;
  -m:* | train_async.py:*) exec @PYTHON@ @TRAINER@ "$@" ;;
  *) exit 97 ;;
esac
"""

RAY = """#!/bin/bash
printf '%s\\n' "$@" >"$OPENRECIPES_RUN_DIR/ray-arguments"
env >"$OPENRECIPES_RUN_DIR/ray-environment"
exec sleep "${RAY_LIVES_S:-600}"
"""


def install(folder: Path) -> Path:
    """The path of a `python3` that plays; `ray` lies beside it. Its folder's name is hard on quoting."""
    trainer = folder / "trainer.py"
    trainer.write_text(TRAINER)
    home = folder / "bin of 'ours' $HOME"
    home.mkdir()
    python = PYTHON.replace("@PYTHON@", shlex.quote(sys.executable)).replace("@TRAINER@", shlex.quote(str(trainer)))
    for name, text in (("python3", python), ("ray", RAY)):
        (home / name).write_text(text)
        (home / name).chmod(0o755)
    return home / "python3"
