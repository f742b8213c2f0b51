"""The rendered script, run: what reaches the trainer, what is recorded, what is ended."""

import json
import os
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest

from openrecipes.problems import ProblemsError
from openrecipes.runs.directory import RunDirectory
from openrecipes.targets.follow import follow
from openrecipes.targets.own_processes import own_processes
from openrecipes.targets.stop import StopRequest, stop
from openrecipes.targets.submit import submit

ODD = "a 'b' \"c\" $HOME `d` $$ \\ %s\n* é"


def wait_until(claim, within_s=30.0):
    end = time.monotonic() + within_s
    while not claim():
        assert time.monotonic() < end, "never came true"
        time.sleep(0.02)


def seen(run):
    return json.loads((run.root / "log" / "seen.json").read_text())


def ended(stage, launch, name="run's dir"):
    rendered, run = stage.placed(launch, name)
    submit(rendered, run).wait(60)
    return run


def test_the_trainer_gets_exactly_the_commands_arguments_and_environment(stage):
    launch = stage.launch(env={"ODD": ODD, "here": "not the script's", "UID": "7"}, sft_data="/rows of 'x' $y.parquet")
    run = ended(stage, launch)
    found = seen(run)
    assert found["argv"][:6] == [
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--max-restarts",
        "0",
        "--nproc-per-node",
    ]
    assert found["argv"][6:8] == ["2", str(run.rendered / "smoke_sft.py")]
    values = {"$HF_CKPT": str(run.rendered / "model"), "$SFT_DATA": "/rows of 'x' $y.parquet"}
    assert found["argv"][8:] == [values.get(word, word) for word in launch.command.argv()[1:]]
    assert {name: found["env"][name] for name in ("ODD", "here", "UID")} == launch.recipe.env
    assert found["cwd"] == str(run.root)


def test_the_submitters_environment_stays_outside(stage, monkeypatch):
    for name in ("AWS_SECRET_ACCESS_KEY", "NCCL_DEBUG", "PYTHONPATH", "OMP_NUM_THREADS", "BASH_ENV", "LD_PRELOAD_NOT"):
        monkeypatch.setenv(name, "leaked")
    monkeypatch.setenv("BASH_FUNC_echo%%", "() { printf leaked; }")
    env = seen(ended(stage, stage.launch(env={"A": "1"})))["env"]
    assert not [name for name, value in env.items() if "leaked" in value]
    expected = {"A", "PATH", "HOME", "PYTHONUNBUFFERED", "VIRTUAL_ENV"}
    ours = {"OPENRECIPES_RUN_DIR", "OPENRECIPES_NODE", "OPENRECIPES_NODE_DIR"}
    beside = {"USER", "LANG", "LC_ALL", "TZ", "TMPDIR", "XDG_CACHE_HOME", "CUDA_VISIBLE_DEVICES"}
    of_bash = {"PWD", "OLDPWD", "SHLVL", "_", "LC_CTYPE"}
    assert set(env) - beside - ours - of_bash <= expected


def test_a_finished_job_is_recorded_with_its_times_and_one_log_of_both_streams(stage):
    before = time.time()
    run = ended(stage, stage.launch())
    job = run.job()
    assert (job.exit_status, job.signal) == (0, None)
    assert before <= job.start_unix_s <= job.end_unix_s <= time.time()
    log = run.log.read_text()
    assert "step 13:" in log
    assert "to stderr" in log
    assert run.environment.exists()
    assert sorted(path.name for path in run.root.iterdir()) == [
        "environment.json",
        "job.json",
        "log",
        "rendered",
    ]


def test_the_trainers_exit_status_is_passed_on(stage):
    rendered, run = stage.placed(stage.launch(env={"STATUS": "37"}))
    assert submit(rendered, run).wait(60) == 37
    assert run.job().exit_status == 37


def test_a_known_expression_is_evaluated_on_the_node(stage, monkeypatch):
    program = stage.folder / "tools" / "nvidia-smi"
    program.parent.mkdir()
    program.write_text(
        "#!/bin/sh\n[ \"$1\" = topo ] && printf 'GPU0\\t X \\tNV18\\nGPU1\\tNV18\\t X \\nNV# = legend\\n'\n"
    )
    program.chmod(0o755)
    env = {"NCCL_NVLS_ENABLE": '$([ "$NVLINK_COUNT" -gt 0 ] && echo 1 || echo 0)'}
    without = ended(stage, stage.launch(env=env), "without")
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    with_nvlink = ended(stage, stage.launch(env=env), "with")
    assert [seen(run)["env"]["NCCL_NVLS_ENABLE"] for run in (without, with_nvlink)] == ["0", "1"]
    assert seen(with_nvlink)["env"].get("NVLINK_COUNT") is None


def test_an_allowed_command_is_evaluated_and_one_that_fails_ends_the_job(stage):
    env = {"A": "x y", "B": '$(echo "$A  *")', "C": "n$(echo 1)m"}
    run = ended(stage, stage.launch(env=env, allow_shell_env=True), "works")
    assert {name: seen(run)["env"][name] for name in "BC"} == {"B": "x y  *", "C": "n1m"}
    run = ended(stage, stage.launch(env={"B": "$(exit 3)"}, allow_shell_env=True), "fails")
    assert run.job().exit_status == 2
    assert "the value of B cannot be evaluated on this node" in run.log.read_text()
    assert not (run.root / "log" / "seen.json").exists()


def test_a_directory_is_used_once(stage):
    rendered, run = stage.placed(stage.launch())
    assert submit(rendered, run).wait(60) == 0
    before = run.job_file.read_bytes()
    assert submit(rendered, run).wait(60) == 2
    assert run.job_file.read_bytes() == before
    assert "a run directory is used once" in run.log.read_text()


def test_the_script_works_by_hand_from_any_folder_and_its_files_lie_beside_it_or_where_one_says(stage):
    _, run = stage.placed(stage.launch())
    before = sorted(run.root.iterdir())
    subprocess.run(["bash", "launch.sh"], cwd=run.rendered, check=True, timeout=60)
    beside = open_job(run.rendered / "run")
    assert beside.exit_status == 0
    assert sorted(run.root.iterdir()) == before
    subprocess.run(["bash", str(run.rendered / "launch.sh"), "new/one"], cwd=stage.folder, check=True, timeout=60)
    assert open_job(stage.folder / "new" / "one").exit_status == 0
    assert json.loads((stage.folder / "new" / "one" / "log" / "seen.json").read_text())["cwd"] == str(
        stage.folder / "new/one"
    )


def open_job(root):
    return RunDirectory(root=root).job()


def test_bytes_that_changed_since_rendering_are_not_run(stage):
    rendered, run = stage.placed(stage.launch())
    with (run.rendered / "smoke_sft.py").open("a") as file:
        file.write("#\n")
    with pytest.raises(ProblemsError, match="is not what was rendered; nothing was started"):
        submit(rendered, run)
    assert not run.job_file.exists()
    assert not run.log.exists()


def test_term_ends_the_trainer_and_what_it_left_in_other_sessions(stage):
    rendered, run = stage.placed(stage.launch(env={"PLAY": "hang"}))
    script = submit(rendered, run)
    wait_until((run.root / "log" / "seen.json").exists)
    stop(script)
    assert script.exit_status == 143
    assert (run.job().exit_status, run.job().signal) == (143, "TERM")
    assert own_processes(run.root) == ()


def test_a_trainer_that_ends_leaves_no_orphan_even_a_deaf_one(stage, monkeypatch):
    monkeypatch.setattr("openrecipes.targets.local.GRACE_S", 1)
    run = ended(stage, stage.launch(env={"PLAY": "orphan"}))
    assert run.job().exit_status == 0
    assert own_processes(run.root) == ()


def test_a_deaf_trainer_is_killed_after_its_grace(stage, monkeypatch):
    monkeypatch.setattr("openrecipes.targets.local.GRACE_S", 1)
    rendered, run = stage.placed(stage.launch(env={"PLAY": "deaf"}))
    script = submit(rendered, run)
    wait_until((run.root / "log" / "seen.json").exists)
    stop(script)
    assert run.job().signal == "TERM"
    assert own_processes(run.root) == ()


def test_a_run_ends_after_what_it_started_even_where_that_is_slow_to_go(stage):
    """As a rank is that gives back a GPU's memory: for seconds it is there, without environment or open files."""
    run = ended(stage, stage.launch(env={"PLAY": "linger", "LINGER_S": "3"}))
    assert run.job().exit_status == 0
    pid = int((run.root / "log" / "lingers").read_text())
    assert not Path(f"/proc/{pid}").exists() or "Z" in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    assert "killed, and still there" not in run.log.read_text()


def test_a_second_signal_kills_at_once_and_the_job_has_no_end(stage):
    rendered, run = stage.placed(stage.launch(env={"PLAY": "deaf"}))
    script = submit(rendered, run)
    wait_until((run.root / "log" / "seen.json").exists)
    request = StopRequest()
    request.note(signal.SIGINT)
    threading.Timer(0.3, request.note, [signal.SIGINT]).start()
    stop(script, request)
    assert script.exit_status == -signal.SIGKILL
    assert not run.job().has_ended
    assert own_processes(run.root) == ()


def test_stopping_one_run_leaves_another_alone(stage):
    launch = stage.launch(env={"PLAY": "hang"})
    scripts = []
    for name in ("one", "one and more"):
        rendered, run = stage.placed(launch, name)
        scripts.append((submit(rendered, run), run))
    for _, run in scripts:
        wait_until((run.root / "log" / "seen.json").exists)
    (first, one), (second, two) = scripts
    stop(first)
    assert own_processes(one.root) == ()
    assert seen(two)["pid"] in own_processes(two.root)
    assert second.state().phase == "running"
    stop(second)
    assert own_processes(two.root) == ()


def test_following_sees_every_step_once_and_the_end(stage):
    rendered, run = stage.placed(stage.launch())
    looks = list(follow(submit(rendered, run), run, steps_wanted=14, request=StopRequest(), poll_s=0.02))
    assert [step.step for look in looks for step in look.steps] == list(range(14))
    assert (looks[-1].stage, looks[-1].exit_status, looks[-1].steps_done) == ("ended", 0, 14)
    assert looks[-1].left_s == 0
    assert not looks[-1].was_stopped


def test_a_signal_while_following_ends_the_run(stage):
    rendered, run = stage.placed(stage.launch(env={"PLAY": "hang"}))
    request = StopRequest()
    last = None
    for look in follow(submit(rendered, run), run, steps_wanted=14, request=request, poll_s=0.02):
        last = look
        if look.stage == "loading" and (run.root / "log" / "seen.json").exists():
            request.note(signal.SIGINT)
    assert last.was_stopped
    assert run.job().signal == "TERM"
    assert own_processes(run.root) == ()


def test_a_killed_script_leaves_no_trainer_behind_and_a_job_without_end(stage):
    rendered, run = stage.placed(stage.launch(env={"PLAY": "hang"}))
    script = submit(rendered, run)
    wait_until((run.root / "log" / "seen.json").exists)
    os.kill(script.pid, signal.SIGKILL)
    *_, last = follow(script, run, steps_wanted=14, request=StopRequest(), poll_s=0.02)
    assert (last.stage, last.exit_status) == ("ended", -signal.SIGKILL)
    assert not run.job().has_ended
    assert own_processes(run.root) == ()
