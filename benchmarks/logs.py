"""How long reading a large log takes, beside `grep -c` for the record's literal on the same cached file.

Writes a log of 128 ranks with the noise of real slime runs (tests/data/logs/h200), whole and wrapped at 160 columns,
and reads each in a fresh process. Goals: at most 4 times grep where records are whole, 12 times where lines are
wrapped, under 200 MB of memory.

    python benchmarks/logs.py [--gib 1.0] [--runs 3] [--keep DIR]
"""

import argparse
import gzip
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SAMPLES = ROOT / "tests" / "data" / "logs" / "h200"
LITERAL = "perf/step_time"
RANKS = 128
LIMITS = {"whole": 4.0, "wrapped": 12.0}
MEMORY_MB = 200
READ = """
import resource, sys, time
start = time.perf_counter()
from openrecipes.logs.run_log import read_log
imported = time.perf_counter()
log = read_log([sys.argv[1]])
end = time.perf_counter()
print(len(log.steps), sum(step.step_time_s is not None for step in log.steps), len(log.problems),
      end - imported, end - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def noise_lines() -> list[bytes]:
    """Lines of real runs that are no records."""
    marks = (b"step_time", b"train/loss", b"arguments ---")
    return [
        line
        for sample in sorted(SAMPLES.glob("*.gz"))
        for line in gzip.decompress(sample.read_bytes()).split(b"\n")
        if not any(mark in line for mark in marks)
    ]


def blocks(chance: random.Random, count: int = 48) -> list[bytes]:
    """Pieces of log in which 128 ranks print one step at once, as without Ray's deduplication.

    Each prints its memory, a timer, a bar a microbatch (8, as the published layouts have), and what else real runs do.
    """
    lines = noise_lines()
    made = []
    for _ in range(count):
        piece: list[bytes] = []
        for rank in range(RANKS):
            address = (4000 + rank, rank // 8, rank % 8)
            prefix = b"\x1b[36m(MegatronTrainRayActor pid=%d, ip=10.0.%d.%d)\x1b[0m " % address
            stamp = b"[2026-10-11 10:%02d:%02d] " % (chance.randrange(60), chance.randrange(60))
            memory = (rank, rank % 8, chance.random() * 60, chance.random() * 80)
            piece.append(
                prefix + stamp + b"memory_utils.py:41 - [Rank %d] Memory-Usage after step: {'gpu': '%d', "
                b"'total_GB': 139.8, 'free_GB': %.2f, 'allocated_GB': %.2f}" % memory
            )
            piece.append(
                prefix + stamp + b"timer.py:32 - Timer actor_train end (elapsed: %.1fs)" % (14 + chance.random())
            )
            for done in range(8):
                bar = b"\xe2\x96\x88" * done + b" " * (8 - done)
                piece.append(prefix + b"\ractor train: %3d%%|%s| %d/8 [00:14<00:01]" % (done * 12, bar, done))
            piece.extend(chance.choice(lines) for _ in range(5))
        chance.shuffle(piece)
        made.append(b"\n".join(piece) + b"\n")
    return made


def records(step: int) -> bytes:
    """A step's two records, from the rank that reports."""
    prefix = b"\x1b[36m(MegatronTrainRayActor pid=4096, ip=10.0.12.0)\x1b[0m [2026-10-11 10:00:00] "
    loss = b"model.py:909 - step %d: {'train/loss': %.6f, 'train/grad_norm': 1.5, 'train/step': %d}"
    times = (
        b"train_metric_utils.py:50 - perf %d: {'perf/update_weights_time': 0.0002, 'perf/train_wait_time': 0.25, "
        b"'perf/actor_train_time': 14.25, 'perf/train_time': 14.5, 'perf/actor_train_tok_per_s': 73584.0, "
        b"'perf/step_time': %.6f, 'perf/wait_time_ratio': 0.017}"
    )
    return (
        prefix + loss % (step, 1 + 1 / (step + 1), step) + b"\n" + prefix + times % (step, 14.75 + step % 7 / 8) + b"\n"
    )


def pieces(size: int) -> Iterator[tuple[bytes, int]]:
    """The log piece by piece, with the number of steps so far."""
    chance = random.Random(1)
    made, written, step = blocks(chance), 0, 0
    while written < size:
        piece = chance.choice(made) + records(step)
        written, step = written + len(piece), step + 1
        yield piece, step


def write(folder: Path, size: int) -> tuple[dict[str, Path], int]:
    """Both logs, and how many steps they hold."""
    files = {name: folder / f"{name}.log" for name in LIMITS}
    count = 0
    with files["whole"].open("wb") as whole, files["wrapped"].open("wb") as wrapped:
        for piece, steps in pieces(size):
            whole.write(piece)
            wrapped.write(re.sub(rb"([^\n]{160})(?=[^\n])", rb"\1\n", piece))
            count = steps
    return files, count


def best(command: list[str], runs: int) -> tuple[float, str]:
    """The shortest wall time of some runs, and what the command printed."""
    seconds, printed = float("inf"), ""
    for _ in range(runs):
        start = time.perf_counter()
        printed = subprocess.run(command, check=False, capture_output=True, text=True, cwd=ROOT).stdout
        seconds = min(seconds, time.perf_counter() - start)
    return seconds, printed


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--gib", type=float, default=1.0, help="size of each log")
    options.add_argument("--runs", type=int, default=3, help="runs of which the best counts")
    options.add_argument("--keep", type=Path, help="keep the logs in this folder")
    given = options.parse_args()
    folder = given.keep or Path(tempfile.mkdtemp(prefix="openrecipes-logs-"))
    folder.mkdir(parents=True, exist_ok=True)
    missed = False
    try:
        files, steps = write(folder, int(given.gib * (1 << 30)))
        print("log          MB grep -c s  read s  ratio  limit memory MB  steps")
        for name, file in files.items():
            grep_s, _ = best(["grep", "-c", LITERAL, str(file)], given.runs)
            reads = [best([sys.executable, "-c", READ, str(file)], 1)[1].split() for _ in range(given.runs)]
            read_s, memory = min(float(read[3]) for read in reads), max(float(read[5]) for read in reads)
            right = all(int(read[0]) == int(read[1]) == steps and int(read[2]) == 0 for read in reads)
            ratio = read_s / grep_s
            missed |= ratio > LIMITS[name] or memory > MEMORY_MB or not right
            size = file.stat().st_size / 1e6
            print(
                f"{name:8} {size:6.0f} {grep_s:9.2f} {read_s:7.2f} {ratio:6.2f} {LIMITS[name]:6.1f} {memory:9.0f} "
                f"{reads[0][1]:>6}{'' if right else f'  expected {steps}, {reads[0][2]} problems'}"
            )
    finally:
        if not given.keep:
            shutil.rmtree(folder)
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
