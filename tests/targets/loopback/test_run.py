"""`run` on a cluster: the same path as `launch`, then scored and written back; and a run that never ends by itself."""

import json
from pathlib import Path

import pytest
from loopback import PUBLISHED, Site, seen, settings

from openrecipes.recipe.read import read_recipe
from openrecipes.runs.arrivals import arrivals


@pytest.mark.parametrize("target", ["slurm", "ssh"])
def test_run_submits_follows_scores_and_writes_the_result(site: Site, target: str) -> None:
    recipe, _ = site.smoke(STEP_S="0.02")
    one = {"ssh": {"hosts": ["n3"], "config": str(site.cluster.folder / "ssh" / "config"), "folder": "/tmp/ray"}}
    profile = site.profile(target, **(one if target == "ssh" else {}))
    words = site.words(recipe, profile, "run", "--target", target, "--write", verb="run")
    done = site.cluster.run(*words, cwd=site.folder)
    assert done.returncode == 0, done.stderr
    document, record = json.loads(done.stdout), site.opened("run").record()
    assert (document["outcome"], record.outcome, record.target) == ("completed", "completed", target)
    assert record.submission.kind == ("slurm" if target == "slurm" else "process")
    assert document["result"]["tokens_per_s_per_gpu"] == pytest.approx(4 * 64 / 0.02 / 2)
    assert document["result"]["render_sha256"] == record.render_sha256
    came = arrivals(site.opened("run").arrivals)
    assert came is not None
    assert came.lines == site.opened("run").log.read_bytes().count(b"\n")
    assert read_recipe(recipe).recipe.result.log_sha256 == record.log.sha256


def test_rows_that_were_built_for_a_run_travel_to_its_host(site: Site) -> None:
    recipe, _ = site.smoke()
    place = {"hosts": ["n3"], "config": str(site.cluster.folder / "ssh" / "config"), "folder": "/tmp/ray"}
    words = site.words(recipe, site.profile("ssh", ssh=place, paths={}), "run", verb="run")
    done = site.cluster.run(*words, cwd=site.folder)
    assert done.returncode == 0, done.stderr
    run = site.opened("run")
    (size,) = [size for path, size in seen(run)["files"].items() if path.endswith("/data/rows.parquet")]
    assert size == run.rows.stat().st_size > 0


def test_run_on_a_cluster_that_fails_has_no_result(site: Site) -> None:
    recipe, profile = site.smoke(STATUS="5")
    done = site.cluster.run(*site.words(recipe, profile, "run", "--write", verb="run"), cwd=site.folder)
    document = json.loads(done.stdout)
    assert (done.returncode, document["outcome"], document["result"]) == (1, "failed", None)
    assert document["reason"].startswith("exit status 5, with 14 of 14 steps in the log")
    assert read_recipe(recipe).recipe.result.tokens_per_s_per_gpu is None


@pytest.mark.tool("module:ray")
@pytest.mark.parametrize("target", ["slurm", "ssh"])
def test_a_driver_that_never_ends_after_an_actor_died_is_ended_and_the_evidence_kept(site: Site, target: str) -> None:
    profile = site.profile(target, hang={"after_error_seconds": 5})
    done = site.launch(PUBLISHED, profile, "run", *settings(2, PLAY="stuck"))
    document, run = json.loads(done.stdout), site.opened("run")
    assert (done.returncode, document["outcome"], document["job"]["signal"]) == (1, "failed", None)
    said = document["job"]["cause"]
    assert said.startswith("no step for ")
    assert " s after an error, and the trainer has not ended: " in said
    assert "died" in said  # Ray's own words differ between its versions
    assert document["steps_read"] == 3
    assert {"n1", "n2"} <= {path.name for path in Path(run.log.parent / "ray").iterdir()}
    assert site.cluster.processes("ray", "node.sh", "remote.sh", "train_async") == []
