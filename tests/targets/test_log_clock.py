"""The launched script writes when its log's lines came: all of them, in order; a log that was changed shows."""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from made_run_directories import job, made
from made_runs import EXPECTED, START_S, TIMES, slime_log

from openrecipes.runs.arrivals import Arrivals, Unfit, arrivals
from openrecipes.score.run_evidence import read_run
from openrecipes.score.score import score
from openrecipes.shipped import shipped
from openrecipes.targets.follow import follow
from openrecipes.targets.own_processes import own_processes
from openrecipes.targets.stop import StopRequest
from openrecipes.targets.submit import submit

BEGIN = """set -u
RUN_DIR=$1; own_mark=OPENRECIPES_RUN_DIR=$RUN_DIR; export OPENRECIPES_RUN_DIR=$RUN_DIR
now() { printf %s "$EPOCHREALTIME"; }
sleep() { command sleep 0.1; } # the clock's; looks come as often
pause() { command sleep "$1"; }
"""
END = "\nkill -TERM $log_clock 2>/dev/null; wait $log_clock; exit 0\n"


def clocked(folder: Path, writes: str) -> Path:
    """The file of arrivals that the clock leaves beside a log into which a script writes ($log)."""
    (folder / "log").mkdir(parents=True, exist_ok=True)
    part = shipped("launch", "parts", "log_clock.sh.j2").read_text()
    script = f"{BEGIN}{part}\nlog=$RUN_DIR/log/train.log\nclock_log & log_clock=$!\npause 0.2\n{writes}{END}"
    ran = subprocess.run(["bash", "-c", script, "-", str(folder)], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    return folder / "log" / "arrivals.jsonl"


def read(path: Path) -> Arrivals:
    found = arrivals(path)
    assert found is not None
    return found


def looks(found: Arrivals, lines: int) -> list[int]:
    arrived = [found.of_line(line) for line in range(1, lines + 1)]
    return [one.look for one in arrived if one is not None]


def test_lines_come_between_the_looks_around_them(tmp_path: Path) -> None:
    before = time.time()
    found = read(clocked(tmp_path, "echo a >>$log; pause 0.4; printf 'b\\nc' >>$log; pause 0.4; echo d >>$log"))
    assert found.lines == 3
    assert before <= found.start_unix_s <= time.time()
    assert looks(found, 3) == [0, 1, 2]
    ends = [found.of_line(line) for line in (1, 2, 3)]
    for one, other in pairwise(ends):
        assert one is not None
        assert other is not None
        assert one.after_s <= one.before_s <= other.after_s <= other.before_s


def test_a_whole_log_of_a_moment_is_counted(tmp_path: Path) -> None:
    found = read(clocked(tmp_path, "seq 100000 >>$log"))
    assert found.lines == 100_000


def test_a_log_without_a_whole_line_has_no_arrival(tmp_path: Path) -> None:
    assert read(clocked(tmp_path, "printf part >>$log; pause 0.3")).lines == 0
    assert read(clocked(tmp_path / "none", "pause 0.3")).lines == 0


@pytest.mark.parametrize(
    "change",
    ["echo z >$log", ": >$log", "seq 9 >$log.new; mv $log.new $log", "rm $log; pause 0.3; seq 9 >>$log"],
)
def test_a_log_that_was_changed_shows(tmp_path: Path, change: str) -> None:
    path = clocked(tmp_path, f"seq 5 >>$log; pause 0.3; {change}; pause 0.3")
    with pytest.raises(Unfit, match="cut short or replaced"):
        arrivals(path)


def test_where_it_cannot_write_nothing_else_suffers(tmp_path: Path) -> None:
    (tmp_path / "log" / "arrivals.jsonl").mkdir(parents=True)
    clocked(tmp_path, "seq 5 >>$log || exit 1").rmdir()


def test_a_launch_times_each_line_of_its_log(stage) -> None:
    rendered, run = stage.placed(stage.launch(env={"STEPS": "8", "STEP_S": "0.2"}))
    submit(rendered, run).wait(60)
    found, of_job = read(run.arrivals), run.job()
    assert of_job is not None
    assert of_job.exit_status == 0
    assert found.lines == run.log.read_bytes().count(b"\n") > 16
    last = found.of_line(found.lines)
    assert last is not None
    # The last look comes before the end is written down; hundredths of a second are cut off.
    assert of_job.start_unix_s - 0.1 <= found.start_unix_s <= last.before_s <= of_job.end_unix_s + 0.1
    assert own_processes(run.root) == ()


def test_it_ends_with_a_script_that_is_killed(stage) -> None:
    rendered, run = stage.placed(stage.launch(env={"PLAY": "hang"}))
    script = submit(rendered, run)
    wait_until(run.arrivals.is_file)
    assert scripts_of(run.root)
    os.kill(script.pid, signal.SIGKILL)
    list(follow(script, run, steps_wanted=14, request=StopRequest(), poll_s=0.02))
    wait_until(lambda: not scripts_of(run.root))


def wait_until(claim: Callable[[], bool], within_s: float = 30.0) -> None:
    end = time.monotonic() + within_s
    while not claim():
        assert time.monotonic() < end, "never came true"
        time.sleep(0.02)


def scripts_of(root: Path) -> list[str]:
    """Processes that run this directory's script: the script, and its children that are no other program yet."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if os.fsencode(root / "rendered" / "launch.sh") in words:
            found.append(path.parent.name)
    return found


def test_step_times_that_the_clock_saw_otherwise_are_refused(tmp_path: Path) -> None:
    """Fourteen steps that say 15 s each, printed within a second."""
    text = slime_log(TIMES)
    run = made(tmp_path / "run", of_job=job(end_unix_s=START_S + 3000), text=text)
    (tmp_path / "lines").write_text(text)
    written = clocked(
        tmp_path / "live", f"while read -r l; do echo \"$l\" >>$log; pause 0.03; done <'{tmp_path}/lines'"
    )
    run.arrivals.write_bytes(written.read_bytes())
    card = score(EXPECTED, read_run(str(run.root)))
    assert [problem.rule for problem in card.errors] == ["arrival-contradiction"]
    assert "sum to 150.2 s" in card.errors[0].what
