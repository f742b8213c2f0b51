"""slime's launch on four Slurm nodes, with a real Ray: what reaches every node, and how a run ends badly."""

import json
import os
import re
import signal
import sys

import pytest
from loopback import NODES, PUBLISHED, Site, seen, settings, wait_until

pytestmark = [pytest.mark.tool("module:ray")]

ODD = "a 'b' \"c\" $HOME ${PATH} `d` $$ \\ %j, é\nline 2\n"
ODD_NAME = 'run\'s dir, "é"'
SECRET = "hunter2-of-the-test"


def test_four_nodes_train_with_the_recipes_arguments_and_environment(site: Site) -> None:
    profile = site.profile(secrets={"TOKEN": {"variable": "MY_TOKEN"}}, preflight="report", preflight_load=False)
    caller = {"MY_TOKEN": SECRET, "NCCL_DEBUG": "leaked", "SBATCH_ACCOUNT": "leaked", "SLURM_TIMELIMIT": "leaked"}
    words = settings(NODES, ODD=ODD)
    done = site.launch(PUBLISHED, profile, ODD_NAME, *words, env=caller)
    run = site.opened(ODD_NAME)
    assert done.returncode == 0, done.stderr + run.log.read_text()
    record = json.loads(done.stdout)
    assert (record["outcome"], record["steps_read"], record["submission"]["ended_as"]) == ("completed", 8, "COMPLETED")
    assert record["job"]["scheduler_id"] == record["submission"]["id"]

    render = [
        sys.executable,
        "-m",
        "openrecipes",
        "render",
        str(PUBLISHED),
        "--cluster",
        str(profile),
        "--json",
        *words,
    ]
    shown = json.loads(site.cluster.run(*render, cwd=site.folder).stdout)
    found = seen(run)
    values = {"$HF_CKPT": "hf", "$TORCH_DIST": "dist"}
    expected = [str(site.folder / values[word]) if word in values else word for word in shown["argv"]]
    assert found["argv"] == ["/on/the/nodes.parquet" if word == "$SFT_DATA" else word for word in expected]
    assert shown["render_sha256"] == record["render_sha256"]
    assert run.changed_files(run.record().rendered) == ()

    assert sorted(node["host"] for node in found["nodes"]) == ["n1", "n2", "n3", "n4"]
    for env in (found["env"], *(node["env"] for node in found["nodes"])):
        assert (env["ODD"], env["NCCL_NVLS_ENABLE"], env["TOKEN"]) == (ODD, "0", SECRET)
        assert (env["RAY_DEDUP_LOGS"], env["PYTHONUNBUFFERED"]) == ("0", "1")
        assert "leaked" not in env.values()
        assert not [name for name in env if name.startswith(("SLURM_", "SBATCH_"))]
    nodes = json.loads((run.root / "nodes.json").read_text())["nodes"]
    assert [(node["name"], node["host"]) for node in nodes] == [(f"n{i}", f"n{i}") for i in range(1, NODES + 1)]
    assert {node["variables"]["NCCL_NVLS_ENABLE"] for node in nodes} == {"0"}

    judged = json.loads((run.root / "preflight.json").read_text())
    assert [node["host"] for node in judged["nodes"]] == [f"n{i}" for i in range(1, NODES + 1)]
    for node in judged["nodes"]:
        checks = {check["name"]: check["status"] for check in node["checks"]}
        assert (checks["clock-skew"], checks["reach-nodes"], checks["gpu-count"]) == ("ok", "ok", "fail")

    files = [path for path in run.root.rglob("*") if path.is_file() and path.name != "seen.json"]
    assert len(files) > 10
    assert [path for path in files if SECRET.encode() in path.read_bytes()] == []
    assert site.cluster.processes("ray", "node.sh", "train_async") == []
    assert list((site.cluster.folder / "ray").glob("*/openrecipes-*")) == []


def test_a_rank_that_dies_fails_the_run_and_leaves_rays_logs(site: Site) -> None:
    done = site.launch(PUBLISHED, site.profile(), "run", *settings(2, PLAY="die"))
    run = site.opened("run")
    record = json.loads(done.stdout)
    assert done.returncode == 1
    assert (record["outcome"], record["job"]["exit_status"], record["submission"]["ended_as"]) == (
        "failed",
        1,
        "FAILED",
    )
    assert "with 3 of 8 steps in the log" in record["reason"]
    assert sorted(path.name for path in (run.log.parent / "ray").iterdir()) == ["n1", "n2"]
    assert site.cluster.processes("ray", "node.sh", "train_async") == []


def test_a_node_that_never_joins_ends_the_run_in_time_and_is_named(site: Site) -> None:
    python = site.folder / "python"
    late = '[ "$(hostname):$2" = n2:ray.scripts.scripts ] && exec sleep 600'
    python.write_text(f'#!/bin/bash\n{late}\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    done = site.launch(PUBLISHED, site.profile(python=str(python), join_seconds=25), "run", *settings(2))
    record = json.loads(done.stdout)
    assert (done.returncode, record["outcome"], record["job"]["exit_status"]) == (1, "failed", 75)
    assert record["job"]["cause"].startswith("Ray is not complete after 25 s: Ray has 1 of 2 nodes")
    assert record["job"]["cause"].endswith("without n2")
    assert not (site.opened("run").root / "log" / "seen.json").exists()
    assert site.cluster.processes("ray", "node.sh", "sleep 600") == []


def test_nodes_whose_own_values_differ_do_not_train_together(site: Site) -> None:
    tool = site.folder / "bin" / "nvidia-smi"
    tool.parent.mkdir()
    tool.write_text('#!/bin/bash\n[ "$(hostname)" = n2 ] && echo "GPU0 X NV18"\n')
    tool.chmod(0o755)
    path = f"{tool.parent}:{site.cluster.env()['PATH']}"
    done = site.launch(PUBLISHED, site.profile(), "run", *settings(2), env={"PATH": path})
    record = json.loads(done.stdout)
    assert (done.returncode, record["outcome"]) == (1, "failed")
    assert record["job"]["cause"] == "NCCL_NVLS_ENABLE differs: '0' on n1; '1' on n2"
    assert not (site.opened("run").root / "log" / "seen.json").exists()


def test_a_trainer_that_says_success_without_a_step_has_failed(site: Site) -> None:
    done = site.launch(PUBLISHED, site.profile(), "run", *settings(1, PLAY="silent"))
    record = json.loads(done.stdout)
    assert (done.returncode, record["outcome"], record["job"]["exit_status"]) == (1, "failed", 0)
    assert record["reason"].startswith("exit status 0, but with 0 of 8 steps in the log")


def test_somebody_elses_ray_on_a_node_is_named_where_it_is_in_the_way_and_never_ended(site: Site) -> None:
    config = str(site.cluster.folder / "ssh" / "config")
    start = f"{sys.executable} -m ray.scripts.scripts start --head --block --disable-usage-stats --num-gpus=0"
    where = "--port=6390 --include-dashboard=false --node-ip-address=127.0.0.11 --temp-dir=/tmp/ray/stranger"
    stranger = site.cluster.start("ssh", "-F", config, "-tt", "n1", f"{start} {where}", cwd=site.folder)
    try:
        wait_until(lambda: site.cluster.processes("raylet --raylet_socket_name=/tmp/ray/stranger") != [])
        wanted = site.profile(ray={"folder": "/tmp/ray", "object_store_gib": 0.08, "port": 6390})
        refused = json.loads(site.launch(PUBLISHED, wanted, "wanted", *settings(1)).stdout)
        found = r"port 6390 of n1 is taken by process \d+ \(gcs_server\) of user root"
        assert re.search(found, str(refused["job"]["cause"])), refused
        done = site.launch(PUBLISHED, site.profile(), "run", *settings(1))
        assert json.loads(done.stdout)["outcome"] == "completed", done.stderr
        assert len(site.cluster.processes("gcs_server --log_dir=/tmp/ray/stranger")) == 1
        assert len(site.cluster.processes("raylet --raylet_socket_name=/tmp/ray/stranger")) == 1
    finally:
        os.killpg(stranger.pid, signal.SIGKILL)  # with its client its terminal goes away, and so does it
        stranger.communicate(timeout=300)
    wait_until(lambda: site.cluster.processes("/tmp/ray/stranger") == [])
