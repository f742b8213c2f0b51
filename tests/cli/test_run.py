"""`openrecipes run` as a person calls it: the whole loop, with a trainer that plays."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import fake_trainer
import pytest
import yaml
from called import Called, openrecipes
from smoke_recipe import write_smoke_recipe

from openrecipes.recipe.read import read_recipe
from openrecipes.rows.build import BuildSettings, build
from openrecipes.rows.embedded_tokenizer import EMBEDDED
from openrecipes.rows.named_source import named_source
from openrecipes.runs.directory import open_run_directory
from openrecipes.runs.json_files import sha256_of
from openrecipes.targets.own_processes import own_processes

PUBLISHED = "qwen3.5-397b-a17b/h200/attune-tp2-pp4-ep32"
CALL = (sys.executable, "-m", "openrecipes", "run")


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    settings = BuildSettings(name="test-rows", tokenizer=EMBEDDED, rows=56, row_tokens=64, seed=42)
    build(named_source("data/fixtures/conversations.jsonl"), settings, path)
    return path


def called(command: Sequence[str], folder: Path) -> Called:
    """The command as called within this process; those that get signals are processes of their own."""
    return openrecipes(*command[CALL.index("openrecipes") + 1 :], folder=folder)


class Place:
    """An empty folder to call `run` in, with a recipe, a profile of the trainer that plays, and rows."""

    def __init__(self, folder: Path, rows: Path) -> None:
        self.folder = folder
        python = fake_trainer.install(folder)
        self.cluster = folder / "site.yaml"
        self.cluster.write_text(
            yaml.safe_dump({"schema_version": 1, "name": "site", "target": "local", "python": str(python)})
        )
        self.rows = rows
        self.run_dir = folder / "the run"

    def arguments(self, *more: str, env: dict[str, str] | None = None) -> list[str]:
        recipe = write_smoke_recipe(self.folder, env={"OMP_NUM_THREADS": "1", **(env or {})})
        given = ["--cluster", str(self.cluster), "--sft-data", str(self.rows), "--run-dir", str(self.run_dir)]
        return [*CALL, str(recipe), *given, *more]

    def run(self, *more: str, env: dict[str, str] | None = None) -> Called:
        return called(self.arguments(*more, env=env), self.folder)


@pytest.fixture
def place(tmp_path: Path, rows: Path) -> Place:
    return Place(tmp_path, rows)


def test_a_completed_run_has_a_record_a_score_and_a_recipe_with_the_result(place: Place) -> None:
    done = place.run("--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    run = open_run_directory(Path(document["run_dir"]))
    record = run.record()
    result = document["result"]
    assert run.root == place.run_dir.resolve()
    assert (record.outcome, record.steps_read, record.job.exit_status) == ("completed", 14, 0)
    assert result["tokens_per_s_per_gpu"] == pytest.approx(4 * 64 / 0.002 / 2)
    assert (result["mfu"], result["usd_per_million_tokens"], result["weights"]) == (None, None, "random")
    assert result["gpu_hours"] == pytest.approx(2 * (record.job.end_unix_s - record.job.start_unix_s) / 3600)
    assert result["log_sha256"] == record.log.sha256 == sha256_of(run.log)
    assert result["render_sha256"] == record.render_sha256
    assert json.loads(run.result.read_text()) == result
    assert len(json.loads(run.steps.read_text())["steps"]) == 14
    stored = read_recipe(run.recipe_with_result).recipe.result
    assert stored.tokens_per_s_per_gpu == 64_000
    assert stored.log_sha256 == record.log.sha256


def test_the_launched_bytes_are_the_recorded_ones_and_the_recipe_is_kept_as_it_was(place: Place) -> None:
    done = place.run()
    run = open_run_directory(place.run_dir)
    record = run.record()
    assert done.returncode == 0, done.stderr
    assert len(record.rendered) == 8
    assert run.changed_files(record.rendered) == ()
    recipe = place.folder / "recipes/qwen3.5-moe-mini/cpu/tests-dp2.yaml"
    assert run.recipe.read_bytes() == recipe.read_bytes()
    assert record.recipe.sha256 == record.recipe.launched_sha256 == sha256_of(recipe)
    assert (
        record.rows.rows_sha256
        == json.loads((place.rows.parent / "rows.parquet.manifest.json").read_text())["rows_sha256"]
    )
    assert "tokens/s per GPU" in done.stdout
    assert "the run" in done.stdout
    assert "\x1b" not in done.stdout + done.stderr


def test_what_render_shows_is_what_run_launches(place: Place) -> None:
    assert place.run().returncode == 0
    words = ["render", str(place.folder / "recipes/qwen3.5-moe-mini/cpu/tests-dp2.yaml"), "--json"]
    given = ["--cluster", str(place.cluster), "--sft-data", str(place.rows)]
    command = [*CALL[:-1], *words, *given]
    shown = json.loads(called(command, place.folder).stdout)
    run = open_run_directory(place.run_dir)
    assert shown["render_sha256"] == run.record().render_sha256
    assert [file["text"].encode() for file in shown["files"]] == [
        (run.rendered / file["path"]).read_bytes() for file in shown["files"]
    ]


def test_write_puts_the_result_into_the_recipes_own_file(place: Place) -> None:
    recipe = place.folder / "recipes/qwen3.5-moe-mini/cpu/tests-dp2.yaml"
    assert place.run("--write").returncode == 0
    run = open_run_directory(place.run_dir)
    assert recipe.read_bytes() == run.recipe_with_result.read_bytes()
    assert read_recipe(recipe).recipe.result.tokens_per_s_per_gpu == 64_000


def test_overrides_are_launched_recorded_and_said_in_the_result(place: Place) -> None:
    done = place.run("--json", "--set", "arguments.lr=2e-5", "--set", "result.steps_per_run=8", env={"STEPS": "8"})
    assert done.returncode == 0, done.stderr
    run = open_run_directory(place.run_dir)
    argv = json.loads((run.root / "log" / "seen.json").read_text())["argv"]
    record = run.record()
    assert argv[argv.index("--lr") + 1] == "2e-5"
    assert argv[argv.index("--num-rollout") + 1] == "8"
    assert record.overrides == ("arguments.lr=2e-5", "result.steps_per_run=8")
    assert [word.split("=")[0] for word in record.deviations] == ["arguments.lr", "result.steps_per_run"]
    assert read_recipe(run.recipe).recipe.result.window == (2, 7)
    stored = read_recipe(run.recipe_with_result).recipe.result
    assert stored.deviations == record.deviations


def test_rows_are_built_into_the_run_directory_where_none_are_given(place: Place) -> None:
    command = [word for word in place.arguments() if word not in ("--sft-data", str(place.rows))]
    done = called(command, place.folder)
    assert done.returncode == 0, done.stderr
    run = open_run_directory(place.run_dir)
    assert run.record().rows.path == "data/rows.parquet"
    assert sha256_of(run.rows) == sha256_of(place.rows)


@pytest.mark.parametrize(
    ("env", "reason"),
    [
        ({"STATUS": "3"}, "exit status 3, with 14 of 14 steps in the log"),
        ({"STEPS": "0"}, "exit status 0, but with 0 of 14 steps in the log"),
        ({"STEPS": "9"}, "exit status 0, but with 9 of 14 steps in the log"),
    ],
)
def test_a_failed_run_says_how_it_ended_and_has_no_result(place: Place, env: dict[str, str], reason: str) -> None:
    done = place.run("--json", "--write", env=env)
    assert done.returncode == 1
    document = json.loads(done.stdout)
    run = open_run_directory(place.run_dir)
    status, _, cause = document["reason"].partition("; ")
    assert (document["outcome"], status, document["result"]) == ("failed", reason, None)
    assert cause.partition(":")[0] in ("unknown_exit", "success_without_step", "stopped_early")
    assert (run.record().outcome, run.record().reason) == ("failed", document["reason"])
    assert not run.result.exists()
    assert not run.recipe_with_result.exists()
    recipe = place.folder / "recipes/qwen3.5-moe-mini/cpu/tests-dp2.yaml"
    assert read_recipe(recipe).recipe.result.tokens_per_s_per_gpu is None
    assert "to stderr" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_run_and_its_children_and_leaves_a_record(place: Place, number: int) -> None:
    command = place.arguments("--json", env={"STEP_S": "0.2"})
    started = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=place.folder, start_new_session=True
    )
    log = place.run_dir / "log" / "train.log"
    end = time.monotonic() + 60
    while not (log.exists() and "step 2:" in log.read_text()):
        assert time.monotonic() < end
        time.sleep(0.02)
    os.kill(started.pid, number)
    out, _ = started.communicate(timeout=60)
    run = open_run_directory(place.run_dir)
    record = run.record()
    assert started.returncode == 130
    assert json.loads(out)["outcome"] == "interrupted"
    assert record.outcome == "interrupted"
    assert record.reason.startswith("stopped by the caller, with ")
    assert (record.job.signal, record.job.exit_status) == ("TERM", 143)
    assert record.log.sha256 == sha256_of(run.log)
    assert not run.result.exists()
    assert not run.recipe_with_result.exists()
    assert own_processes(run.root) == ()


def test_two_runs_at_once_get_two_directories(place: Place) -> None:
    words = place.arguments("--json")
    at = words.index("--run-dir")
    command = words[:at] + words[at + 2 :]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=place.folder) for _ in range(2)]
    documents = [json.loads(process.communicate(timeout=120)[0]) for process in started]
    assert [process.returncode for process in started] == [0, 0]
    roots = {Path(document["run_dir"]) for document in documents}
    assert len(roots) == 2
    assert all(root.parent == (place.folder / "runs").resolve() for root in roots)
    assert all(open_run_directory(root).record().outcome == "completed" for root in roots)


def test_128_h200_on_this_machine_is_refused_and_nothing_is_made(tmp_path: Path) -> None:
    command = [*CALL, PUBLISHED, "--json"]
    done = called(command, tmp_path)
    problems = json.loads(done.stdout)["problems"]
    assert done.returncode == 1
    assert {problem["rule"] for problem in problems if problem["severity"] == "error"} >= {
        "target-nodes",
        "target-gpus",
    }
    here = next(problem for problem in problems if problem["rule"] == "target-gpus")
    assert here["what"].startswith("128 x H200 needed, but this machine has ")
    assert here["line"] is not None
    assert list(tmp_path.iterdir()) == []


def test_a_commands_substitution_in_a_recipe_is_refused_and_not_run(place: Place) -> None:
    trace = place.folder / "trace"
    done = place.run(env={"A": f"$(touch {trace})"})
    assert done.returncode == 1
    assert "would run as a command on every node" in done.stderr
    assert not trace.exists()
    assert not place.run_dir.exists()


def test_an_unsound_recipe_is_refused_with_all_its_problems(place: Place) -> None:
    words = place.arguments()
    recipe = Path(words[len(CALL)])
    text = recipe.read_text().replace("dp: 2", "dp: 3").replace("window_tokens: 2560", "window_tokens: 2561")
    recipe.write_text(text)
    done = called(words, place.folder)
    assert done.returncode == 1
    assert "layout.dp" in done.stderr
    assert "result.window_tokens" in done.stderr
    assert not place.run_dir.exists()


def test_rows_that_are_not_the_recipes_are_refused(place: Place) -> None:
    done = place.run("--set", "workload.dataset.build.seed=7")
    assert done.returncode == 1
    assert "42, but the recipe says 7" in done.stderr
    assert not place.run_dir.exists()


def test_a_run_directory_that_is_not_empty_is_refused(place: Place) -> None:
    place.run_dir.mkdir()
    (place.run_dir / "notes").write_text("mine")
    done = place.run()
    assert done.returncode == 2
    assert "is not empty; a run directory is never reused" in done.stderr
    assert [path.name for path in place.run_dir.iterdir()] == ["notes"]


def test_a_profile_with_mistakes_reports_all_of_them(place: Place) -> None:
    place.cluster.write_text("schema_version: 1\nname: site\ntarget: lokal\npyton: python3\n")
    done = place.run()
    assert done.returncode == 1
    assert "site.yaml:3:target: lokal" in done.stderr
    assert "site.yaml:4:pyton" in done.stderr


def test_a_profile_of_another_kind_of_place_is_refused(place: Place) -> None:
    profile = Path(__file__).parents[2] / "launch" / "clusters" / "eks-p5en.yaml"
    done = place.run("--target", "local", "--cluster", str(profile))
    assert done.returncode == 2
    assert "--target: local, but cluster profile eks-p5en describes a place of the kind kubernetes" in done.stderr
    assert not place.run_dir.exists()
