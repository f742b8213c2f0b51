"""Jobs of a real Slurm: how they end, who finds them again, and that none is submitted twice."""

import json
import os
import signal
import sys

from loopback import PUBLISHED, Site, child_of, wait_until

STEPS = {"STEP_S": "0.3"}


def job_id(site: Site, run: str) -> str:
    return str(site.opened(run).record().submission.id)


def has_steps(site: Site, run: str) -> bool:
    log = site.folder / run / "log" / "train.log"
    return log.exists() and "step 2:" in log.read_text()


def test_a_job_that_is_cancelled_from_outside_says_so_and_leaves_nothing(site: Site) -> None:
    recipe, profile = site.smoke(PLAY="hang")
    with site.cluster.start(*site.words(recipe, profile, "run"), cwd=site.folder) as harness:
        wait_until((site.folder / "run" / "log" / "seen.json").exists)
        site.cluster.run("scancel", job_id(site, "run"))
        document = json.loads(harness.communicate(timeout=300)[0])
    assert harness.returncode == 130
    assert (document["outcome"], document["submission"]["ended_as"]) == ("interrupted", "CANCELLED")
    assert (document["job"]["signal"], document["job"]["exit_status"]) == ("TERM", 143)
    assert site.cluster.processes("node.sh", "launch.sh", "trainer.py") == []


def test_the_time_limit_ends_a_job_in_order_and_is_named(site: Site) -> None:
    recipe, _ = site.smoke(PLAY="hang")
    done = site.launch(recipe, site.profile(time_limit_seconds=60), "run")
    document = json.loads(done.stdout)
    assert (done.returncode, document["outcome"]) == (130, "interrupted")
    assert document["job"]["cause"].startswith("time limit of 60 s, TERM came ")
    assert document["reason"].startswith("time limit of 60 s")
    assert site.cluster.processes("node.sh", "launch.sh", "trainer.py") == []


def test_a_killed_harness_finds_its_job_again_and_submits_no_second_one(site: Site) -> None:
    recipe, profile = site.smoke(**STEPS)
    with site.cluster.start(*site.words(recipe, profile, "run"), cwd=site.folder) as harness:
        wait_until(lambda: has_steps(site, "run"))
        os.killpg(harness.pid, signal.SIGKILL)
    record = site.opened("run").record()
    assert (record.outcome, record.submission.cluster) == ("running", "loopback")
    again = site.launch(recipe, profile, "run")
    assert again.returncode == 2
    assert "is not empty; a run directory is never reused" in again.stderr
    attached = site.follow("--attach", "run")
    document = json.loads(attached.stdout)
    assert (attached.returncode, document["outcome"], document["steps_read"]) == (0, "completed", 14)
    assert document["job"]["scheduler_id"] == job_id(site, "run")
    assert json.loads(site.follow("--attach", "run").stdout) == document


def test_a_job_whose_id_was_never_noted_is_found_by_name_and_directory(site: Site) -> None:
    recipe, profile = site.smoke(PLAY="hang")
    detached = site.launch(recipe, profile, "run", "--detach")
    assert (detached.returncode, json.loads(detached.stdout)["outcome"]) == (0, "running")
    run = site.opened("run")
    record, number = run.record(), job_id(site, "run")
    run.write_record(record.model_copy(update={"submission": record.submission.model_copy(update={"id": None})}))
    wait_until((site.folder / "run" / "log" / "seen.json").exists)
    stopped = site.follow("--stop", "run")
    document = json.loads(stopped.stdout)
    assert (stopped.returncode, document["outcome"]) == (0, "interrupted")
    assert document["submission"]["id"] == number
    assert document["job"]["signal"] == "TERM"
    assert site.cluster.processes("node.sh", "launch.sh", "trainer.py") == []


def test_a_lost_terminal_leaves_the_job_running(site: Site) -> None:
    recipe, profile = site.smoke(**STEPS)
    with site.cluster.start(*site.words(recipe, profile, "run"), cwd=site.folder) as harness:
        wait_until(lambda: has_steps(site, "run"))
        os.kill(child_of(harness.pid), signal.SIGHUP)
        document = json.loads(harness.communicate(timeout=300)[0])
    assert (harness.returncode, document["outcome"]) == (0, "running")
    assert json.loads(site.follow("--attach", "run").stdout)["outcome"] == "completed"


def test_two_launches_at_once_keep_apart_and_of_two_into_one_directory_one_is_refused(site: Site) -> None:
    recipe, profile = site.smoke(**STEPS)
    words = [site.words(recipe, profile, name) for name in ("one", "two", "two")]
    started = [site.cluster.start(*each, cwd=site.folder) for each in words]
    ended = [(process.communicate(timeout=300), process.returncode) for process in started]
    codes = [code for _, code in ended]
    assert codes[0] == 0
    assert sorted(codes[1:]) == [0, 2]
    documents = [json.loads(out) for (out, _), code in ended if code == 0]
    assert [document["outcome"] for document in documents] == ["completed", "completed"]
    assert len({document["submission"]["id"] for document in documents}) == 2


def test_a_queued_job_waits_and_is_cancelled_before_it_starts(site: Site) -> None:
    recipe, profile = site.smoke()
    holder = site.cluster.run("sbatch", "--parsable", "-N4", "--exclusive", "--wrap", "sleep 300", cwd=site.folder)
    site.launch(recipe, profile, "run", "--detach")
    number = job_id(site, "run")
    assert site.cluster.run("squeue", "-h", "-j", number, "-o", "%T").stdout.strip() == "PENDING"
    document = json.loads(site.follow("--stop", "run").stdout)
    site.cluster.run("scancel", holder.stdout.strip())
    assert (document["outcome"], document["job"]) == ("interrupted", None)
    assert document["submission"]["ended_as"] == "CANCELLED"
    wait_until(lambda: site.cluster.queue() == [])


def test_what_slurm_refuses_is_told_in_its_words_and_nothing_is_submitted(site: Site) -> None:
    recipe, _ = site.smoke()
    done = site.launch(recipe, site.profile(slurm={"partition": "nowhere"}), "run")
    assert done.returncode == 3
    assert "nvalid partition" in done.stderr
    assert site.opened("run").record().outcome == "failed"
    many = site.launch(PUBLISHED, site.profile(), "many")
    assert many.returncode == 1
    assert "the partition has 4 nodes, and the job needs 16; Slurm would let it wait for ever" in many.stderr
    assert site.cluster.queue() == []


def test_an_sbatch_that_fails_after_the_job_was_taken_loses_no_job(site: Site) -> None:
    recipe, profile = site.smoke(**STEPS)
    tool = site.folder / "bin" / "sbatch"
    tool.parent.mkdir()
    late = (
        'case "$*" in *--parsable*) echo "sbatch: error: Socket timed out on send/recv operation" >&2; exit 1 ;; esac'
    )
    tool.write_text(f'#!/bin/bash\n"$(PATH="${{PATH#*:}}" command -v sbatch)" "$@" >"$0.said" 2>&1 || exit\n{late}\n')
    tool.chmod(0o755)
    path = f"{tool.parent}:{site.cluster.env()['PATH']}"
    done = site.launch(recipe, profile, "run", env={"PATH": path})
    document = json.loads(done.stdout)
    assert (done.returncode, document["outcome"]) == (0, "completed")
    assert (
        document["submission"]["id"]
        == document["job"]["scheduler_id"]
        == tool.with_name("sbatch.said").read_text().strip()
    )


def test_rendered_files_run_by_hand(site: Site) -> None:
    recipe, profile = site.smoke()
    words = [sys.executable, "-m", "openrecipes", "render", str(recipe), "--cluster", str(profile), "-o", "by hand"]
    rendered = site.cluster.run(*words, cwd=site.folder)
    (call,) = [
        line.partition(": ")[2] for line in rendered.stderr.splitlines() if line.startswith("start it by hand: ")
    ]
    submitted = site.cluster.run("bash", "-c", call.replace("sbatch ", "sbatch --wait "), cwd=site.folder)
    assert submitted.returncode == 0, submitted.stderr
    job = json.loads((site.folder / "by hand" / "run" / "job.json").read_text())
    assert (job["exit_status"], job["cause"]) == (0, None)
    assert "step 13:" in (site.folder / "by hand" / "run" / "log" / "train.log").read_text()
