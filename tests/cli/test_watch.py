"""`openrecipes watch`: a growing log, a run directory, a terminal, a pipe, Ctrl-C."""

import gzip
import io
import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from called import Called, openrecipes
from made_run_directories import job, made
from made_runs import TIMES, slime_log
from rich.console import Console

from openrecipes.cli.watch_page import WatchLines, watch_page
from openrecipes.cli.watched_run import Look, WatchedRun
from openrecipes.recipe.read import read_recipe

ROOT = Path(__file__).parents[2]
PUBLISHED = ROOT / "recipes/qwen3.5-397b-a17b/h200/attune-tp2-pp4-ep32.yaml"
RECIPE = read_recipe(PUBLISHED).recipe
COMMAND = [sys.executable, "-m", "openrecipes", "watch"]


def page(look: Look, width: int = 80) -> str:
    file = io.StringIO()
    Console(width=width, file=file, force_terminal=False).print(watch_page(look))
    return file.getvalue()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "train.log"
    path.write_text("")
    return path


def grow(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def test_each_look_reads_what_is_new(log: Path) -> None:
    run, text = WatchedRun([str(log)], RECIPE), slime_log()
    assert run.look().steps == ()
    seen = []
    for start in range(0, len(text), 997):
        grow(log, text[start : start + 997])
        seen.append(len(run.look().steps))
    assert seen == sorted(seen)
    assert len(run.look(is_last=True).steps) == 14
    assert run.look().diagnosis.outcome == "completed"


def test_the_running_score_becomes_the_score(log: Path) -> None:
    run = WatchedRun([str(log)], RECIPE)
    grow(log, slime_log(TIMES[:4]))
    before = run.look()
    assert (before.score.scored, before.score.tokens_per_s_per_gpu) == (0, None)
    assert before.score.left_s == pytest.approx(10 * 15.3)
    grow(log, slime_log()[len(slime_log(TIMES[:4])) :])
    after = run.look()
    assert after.score.scored == 10
    assert after.score.tokens_per_s_per_gpu == pytest.approx(10 * 128 * 8192 / sum(TIMES[4:]) / 128)
    assert after.score.left_s == 0
    assert after.score.lost == ()


def test_a_run_without_a_recipe_is_measured_by_its_own_arguments(log: Path) -> None:
    grow(log, "----- arguments -----\n  world_size .... 128\n  global_batch_size .... 128\n  num_rollout .... 14\n"
              "  rollout_batch_size .... 128\n---- end of arguments ----\n")  # fmt: skip
    grow(log, slime_log())
    score = WatchedRun([str(log)]).look().score
    assert score.window is not None
    assert score.window.ends == (4, 13)
    assert score.tokens_per_s_per_gpu == pytest.approx(10 * 128 * 8192 / sum(TIMES[4:]) / 128)


@pytest.mark.parametrize(
    ("broken", "rule"),
    [
        (slime_log(TIMES[:6]).replace("'train/loss': 1.45", "'train/loss': nan"), "loss-not-finite"),
        (slime_log(TIMES[:6], rows=64), "global-batch"),
        (slime_log(TIMES[:6], tokens=1), "tokens-per-step"),
        (slime_log((*TIMES[:5], -3.0)), "step-time-not-positive"),
        ("  mock_data .... True\n", "mock-data"),
    ],
)
def test_a_run_that_can_no_longer_be_scored_is_to_be_stopped(log: Path, broken: str, rule: str) -> None:
    if rule == "mock-data":
        broken = f"----- arguments -----\n{broken}---- end of arguments ----\n{slime_log(TIMES[:6])}"
    grow(log, broken)
    look = WatchedRun([str(log)], RECIPE).look()
    assert rule in {problem.rule for problem in look.score.lost}
    assert f"stop it: it can no longer be scored: {look.score.lost[0].what}"[:60] in " ".join(page(look).split())


def test_steps_still_to_come_are_no_reason_to_stop(log: Path) -> None:
    for count in range(1, 15):
        log.write_text(slime_log(TIMES[:count]))
        assert WatchedRun([str(log)], RECIPE).look().score.lost == (), count


def test_one_slow_step_in_the_window_is_told(log: Path) -> None:
    grow(log, slime_log((*TIMES[:13], 40.0)))
    assert "took 40.00 s, over 1.5 times the median" in (WatchedRun([str(log)], RECIPE).look().score.unsteady or "")


def test_the_first_sign_of_trouble_is_told_while_the_run_goes_on(log: Path) -> None:
    run = WatchedRun([str(log)], RECIPE)
    grow(log, slime_log(TIMES[:6]))
    assert run.look().trouble is None
    grow(log, "(MegatronTrainRayActor pid=9, ip=10.0.0.9) RuntimeError: CUDA error: device-side assert triggered\n")
    trouble = run.look().trouble
    assert trouble is not None
    assert (trouble.name, trouble.origin.node) == ("device_assert", "10.0.0.9")


def test_the_slowest_of_several_ranks_is_named(tmp_path: Path) -> None:
    for rank in range(4):
        times = [time * (1.2 if rank == 2 else 1) for time in TIMES[:6]]
        (tmp_path / f"rank{rank}.log").write_text(slime_log(times))
    look = WatchedRun([str(tmp_path)], RECIPE).look()
    assert look.slowest is not None
    who, time_s, over = look.slowest
    assert (who, round(over, 3)) == ("rank2.log", 0.2)
    assert time_s == pytest.approx(1.2 * 15.1)
    assert "rank2.log, +20.0 % over the median: look at its node" in " ".join(page(look).split())


def test_a_log_that_was_replaced_is_read_anew(log: Path) -> None:
    run = WatchedRun([str(log)], RECIPE)
    grow(log, slime_log(TIMES[:6]))
    assert len(run.look().steps) == 6
    log.write_text(slime_log(TIMES[:2]))
    assert len(run.look().steps) == 2


def test_a_file_that_appears_later_is_followed(tmp_path: Path) -> None:
    run = WatchedRun([str(tmp_path)], RECIPE)
    assert run.look().steps == ()
    (tmp_path / "rank0.log").write_text(slime_log(TIMES[:3]))
    assert len(run.look().steps) == 3


@pytest.mark.parametrize("times", [(), TIMES[:1], TIMES[:6], TIMES])
def test_the_page_fits_80_columns(log: Path, times: tuple[float, ...]) -> None:
    grow(log, slime_log(times) + "RuntimeError: CUDA error: device-side assert triggered, " + "x" * 300 + "\n")
    text = page(WatchedRun([str(log)], RECIPE).look())
    assert max(len(line) for line in text.splitlines()) <= 80
    assert "x" * 70 in text


def test_lines_tell_each_piece_of_news_once(log: Path) -> None:
    said: list[str] = []
    lines, run = WatchLines(said.append), WatchedRun([str(log)], RECIPE)
    for count in range(1, 15):
        log.write_text(slime_log(TIMES[:count]))
        run = WatchedRun([str(log)], RECIPE)
        for _ in range(2):
            lines.show(run.look())
    assert [line.split(",")[0] for line in said] == [*(f"step {n} of 14" for n in range(14)), "ended: completed"]


def watch(*words: str) -> Called:
    return openrecipes("watch", *words)


def test_a_run_directory_that_has_ended_ends_the_watch(tmp_path: Path) -> None:
    made(tmp_path / "run", of_job=job())
    done = watch(str(tmp_path / "run"))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == "ended: completed"
    assert "step 13 of 14, 14.900 s" in done.stdout


def test_json_is_one_document_of_the_last_look(tmp_path: Path) -> None:
    run = made(tmp_path / "run", of_job=job(), text=slime_log(TIMES[:5]))
    run.recipe.write_bytes(PUBLISHED.read_bytes())  # a window is of a recipe, and a launched run has one
    done = watch(str(tmp_path / "run"), "--json")
    document: dict[str, Any] = json.loads(done.stdout)
    assert done.returncode == 1
    assert (document["outcome"], document["trouble"]["class"], document["steps_read"]) == ("failed", "stopped_early", 5)
    assert document["window"] == [4, 13]


def test_once_shows_a_growing_log_and_ends(log: Path) -> None:
    grow(log, slime_log(TIMES[:6]))
    done = watch(str(log), "--once", "--recipe", str(PUBLISHED))
    assert done.returncode == 0
    assert "window" in done.stdout
    assert "2 of 10 steps scored" in done.stdout


def test_ctrl_c_ends_it_with_130(log: Path) -> None:
    grow(log, slime_log(TIMES[:6]))
    with subprocess.Popen([*COMMAND, str(log)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT) as watching:
        assert watching.stdout is not None
        assert watching.stderr is not None
        watching.stdout.readline()
        watching.send_signal(signal.SIGINT)
        assert watching.wait(30) == 130
        assert b"Traceback" not in watching.stderr.read()


def test_on_a_terminal_the_page_is_drawn_again_and_again(log: Path) -> None:
    grow(log, slime_log(TIMES[:6]))
    leader, follower = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80", "LINES": "24"}
    command = [*COMMAND, str(log), "--recipe", str(PUBLISHED), "--interval", "0.1"]
    with subprocess.Popen(command, stdout=follower, stderr=follower, cwd=ROOT, env=environment) as watching:
        os.close(follower)
        shown = b""
        end = time.monotonic() + 60
        while b"2 of 10 steps scored" not in shown and time.monotonic() < end:
            shown += os.read(leader, 65536)
        grow(log, slime_log()[len(slime_log(TIMES[:6])) :] + "Job 'raysubmit_A' succeeded\n")
        while watching.poll() is None and time.monotonic() < end:
            try:
                shown += os.read(leader, 65536)
            except OSError:
                break
        assert watching.wait(30) == 0
    assert b"10 of 10 steps scored" in shown
    assert b"\x1b[" in shown
    os.close(leader)


def test_what_is_not_there_is_wrong_usage() -> None:
    assert watch("no-such.log").returncode == 2


def test_what_cannot_grow_is_wrong_usage(tmp_path: Path) -> None:
    packed = tmp_path / "train.log.gz"
    packed.write_bytes(gzip.compress(slime_log().encode()))
    for name in (str(packed), "-"):
        done = watch(name)
        assert done.returncode == 2
        assert "mend:" in done.stderr


SRUN_LIMIT = "slurmstepd: error: *** STEP 7.0 ON node1 CANCELLED AT 2026-11-30T10:00:00 DUE TO TIME LIMIT ***\n"
DRIVER_RAISED = 'Traceback (most recent call last):\n  File "train_async.py", line 3\nRuntimeError: no such model\n'
ACTOR_RAISED = "(MegatronTrainRayActor pid=9) RuntimeError: CUDA error: device-side assert triggered\n"


def aged(path: Path, seconds: float) -> None:
    then = time.time() - seconds
    os.utime(path, (then, then))


@pytest.mark.parametrize(
    ("words", "silent_s", "has_ended"),
    [
        (SRUN_LIMIT, 0, False),  # the job's other lines are still to come
        (SRUN_LIMIT, 90, True),
        (DRIVER_RAISED, 0, False),
        (DRIVER_RAISED, 90, True),
        (ACTOR_RAISED, 90, False),  # the driver goes on until a timeout
        (ACTOR_RAISED, 7000, True),
        ("", 90, False),
        ("", 7000, True),
    ],
)
def test_a_bare_log_ends_by_its_last_word_or_a_long_silence(
    log: Path, words: str, silent_s: float, has_ended: bool
) -> None:
    grow(log, slime_log(TIMES[:6]) + words)
    aged(log, silent_s)
    run = WatchedRun([str(log)], RECIPE)
    look = run.look()
    assert (look.has_ended, run.look().has_ended) == (has_ended, has_ended)
    assert look.diagnosis.outcome == ("failed" if words else "incomplete")
    assert bool(look.end and "nothing has been written" in look.end) == has_ended
    assert ("watching on until it ends" in " ".join(page(look).split())) == (bool(words) and not has_ended)


def test_a_log_that_grows_while_it_is_watched_is_not_silent_whatever_its_time_says(log: Path) -> None:
    grow(log, slime_log(TIMES[:2]))
    run = WatchedRun([str(log)], RECIPE)
    run.look()
    grow(log, slime_log(TIMES[:4])[len(slime_log(TIMES[:2])) :])
    aged(log, 7000)
    assert not run.look().has_ended


def test_an_old_log_of_a_failed_run_ends_the_watch_with_1(log: Path) -> None:
    grow(log, slime_log(TIMES[:6]) + ACTOR_RAISED)
    aged(log, 7000)
    done = watch(str(log))
    assert done.returncode == 1
    assert "ended: failed, nothing has been written to its log for 116 min" in done.stdout
