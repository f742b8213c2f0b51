"""A folder that stands in for a slime checkout: its `train_async.py` is a real Ray job, one actor a node.

PLAY in the recipe's environment says what it does: `steps` (the default), `die` (the last node's actor dies in
step 3), `stuck` (the same, and the driver never ends), `hang` (after step 3), `silent` (ends with 0 and without a
step). STEP_S is the time of a step.
"""

from pathlib import Path

TRAIN = """
import json, os, socket, sys, time, traceback

import ray
from ray.util.placement_group import placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy


def word(flag, default=None):
    return sys.argv[sys.argv.index(flag) + 1] if flag in sys.argv else default


nodes, gpus = int(word("--actor-num-nodes")), int(word("--actor-num-gpus-per-node"))
play, step_s = os.environ.get("PLAY", "steps"), float(os.environ.get("STEP_S", "0.05"))


@ray.remote(num_cpus=1, num_gpus=gpus, max_restarts=0)
class Node:
    def look(self):
        return {"host": socket.gethostname(), "pid": os.getpid(), "env": dict(os.environ)}

    def step(self, number, dies):
        if dies:
            os._exit(9)
        time.sleep(step_s)


def main():
    ray.init(address=os.environ["RAY_ADDRESS"], logging_level="ERROR")
    group = placement_group([{"GPU": gpus, "CPU": 1}] * nodes, strategy="STRICT_SPREAD")
    ray.get(group.ready())
    ranks = [
        Node.options(scheduling_strategy=PlacementGroupSchedulingStrategy(group, i)).remote() for i in range(nodes)
    ]
    seen = {"argv": sys.argv, "cwd": os.getcwd(), "env": dict(os.environ)}
    seen["nodes"] = ray.get([rank.look.remote() for rank in ranks])
    with open(os.path.join(os.environ["OPENRECIPES_RUN_DIR"], "log", "seen.json"), "w") as file:
        json.dump(seen, file)
    print("ranks on", *(node["host"] for node in seen["nodes"]), flush=True)
    if play == "silent":
        return
    for n in range(int(word("--num-rollout"))):
        start = time.time()
        dies = play in ("die", "stuck") and n == 3
        ray.get([rank.step.remote(n, dies and i == nodes - 1) for i, rank in enumerate(ranks)])
        took = time.time() - start
        stamp = time.strftime("[%Y-%m-%d %H:%M:%S]")
        step = {"train/loss": 1.5, "train/grad_norm": 0.5, "train/lr-pg_0": 1e-5, "train/step": n}
        perf = {"perf/train_wait_time": 0.0, "perf/train_time": took, "perf/step_time": took}
        print(f"{stamp} model.py:9 - step {n}: {step}")
        print(f"{stamp} train_metric_utils.py:50 - perf {n}: {perf}", flush=True)
        if play == "hang" and n == 3:
            time.sleep(600)


if play != "stuck":
    main()
else:
    try:
        main()
    except Exception:
        traceback.print_exc()
        time.sleep(600)
"""


def install(folder: Path) -> Path:
    """The checkout, made below `folder`; beside it empty folders for what else slime needs."""
    for name in ("slime", "megatron", "hf", "dist"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "slime" / "train_async.py").write_text(TRAIN)
    return folder / "slime"
