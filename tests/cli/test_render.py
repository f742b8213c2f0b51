"""`openrecipes render` as a person calls it."""

import hashlib
import json
from pathlib import Path

import pytest
import yaml
from called import Called, openrecipes
from varied_recipes import PUBLISHED, SMOKE

NAME = "qwen3.5-397b-a17b/h200/attune-tp2-pp4-ep32"
SMOKE_NAME = "qwen3.5-moe-mini/cpu/smoke-dp2"
ROOT = Path(__file__).resolve().parent.parent.parent


def render(*arguments: str) -> Called:
    return openrecipes("render", *arguments)


def test_it_prints_the_command_and_says_what_is_inferred() -> None:
    done = render(NAME)
    assert done.returncode == 0
    assert done.stdout == yaml.safe_load(PUBLISHED[2].read_text())["run"]
    assert "MODEL_ARGS has --moe-permute-fusion: inferred from layout.summary" in done.stderr
    assert "run is not" not in done.stderr


def test_json_has_environment_argv_and_the_origin_of_every_flag() -> None:
    document = json.loads(render(NAME, "--json").stdout)
    assert document["env"]["CUDA_DEVICE_MAX_CONNECTIONS"] == "1"
    assert document["env_kind"]["NCCL_NVLS_ENABLE"] == "shell"
    assert document["argv"][0] == "train_async.py"
    assert document["argv"].count("--tensor-model-parallel-size") == 1
    assert {"flag": "--tensor-model-parallel-size", "value": "2", "from": "layout.tp"} in document["origin"]
    flags = [word for word in document["argv"] if word.startswith("--")]
    assert flags == [origin["flag"] for origin in document["origin"]]
    assert (document["files"], document["render_sha256"]) == ([], None)


def test_a_setting_changes_the_command_and_its_origin() -> None:
    done = render(NAME, "--json", "--set", "layout.tp=4", "--set", "result.steps_per_run=20")
    document = json.loads(done.stdout)
    argv = document["argv"]
    assert argv[argv.index("--num-rollout") + 1] == "20"
    assert {"flag": "--tensor-model-parallel-size", "value": "4", "from": "--set layout.tp"} in document["origin"]
    assert "layout.tp=4 (--set; the recipe has 2)" in done.stderr


def test_a_run_that_the_fields_contradict_is_not_echoed_and_stderr_shows_the_lines(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    text = PUBLISHED[2].read_text()
    path.write_text(text.replace("--tensor-model-parallel-size 2 ", "--tensor-model-parallel-size 8 "))
    done = render(str(path))
    assert done.returncode == 0
    assert done.stdout == yaml.safe_load(text)["run"]
    assert "the recipe's run is not what its fields say:" in done.stderr
    assert "-  --tensor-model-parallel-size 8 \\" in done.stderr
    assert "+  --tensor-model-parallel-size 2 \\" in done.stderr


def test_a_refusal_names_the_files_line_and_a_wrong_setting_is_wrong_usage(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(PUBLISHED[2].read_text().replace("layer_split: null", "layer_split: [10, 15, 20, 15]"))
    done = render(str(path), "--json")
    line = path.read_text().splitlines().index("  layer_split: [10, 15, 20, 15]") + 1
    assert done.returncode == 1
    assert f"{path}:{line}:layout.layer_split: [10, 15, 20, 15]" in done.stderr
    problem = json.loads(done.stdout)["problems"][0]
    assert (problem["line"], problem["rule"]) == (line, "layout-split-middle")
    wrong = render(NAME, "--set", "layout.tpp=4")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "--set layout.tpp: is no key of a recipe" in wrong.stderr
    assert render(NAME, "--set", "layout.dp=8").returncode == 1


def test_the_smoke_recipe_renders() -> None:
    assert render(SMOKE_NAME).stdout == yaml.safe_load(SMOKE.read_text())["run"]


def test_a_target_gives_every_file_with_its_hash_and_the_hash_of_all() -> None:
    document = json.loads(render(SMOKE_NAME, "--target", "local", "--json").stdout)
    files = {file["path"]: file for file in document["files"]}
    assert len(files) > 2
    assert all(hashlib.sha256(file["text"].encode()).hexdigest() == file["sha256"] for file in files.values())
    lines = sorted(f"{file['sha256']}  {file['path']}\n" for file in files.values())
    assert document["render_sha256"] == hashlib.sha256("".join(lines).encode()).hexdigest()
    assert document["argv"][0] == "smoke_sft.py"


def test_files_are_written_and_their_hashes_are_what_is_printed(tmp_path: Path) -> None:
    done = render(SMOKE_NAME, "--target", "local", "-o", str(tmp_path / "new"))
    assert done.returncode == 0, done.stderr
    for line in done.stdout.splitlines():
        digest, _, name = line.partition("  ")
        assert hashlib.sha256((tmp_path / "new" / name).read_bytes()).hexdigest() == digest
    assert "render_sha256" in done.stderr


def test_files_of_the_users_are_never_lost(tmp_path: Path) -> None:
    call = (SMOKE_NAME, "--target", "local", "-o", str(tmp_path))
    assert render(*call).returncode == 0
    assert render(*call).returncode == 0  # the same bytes lie there
    script = tmp_path / "launch.sh"
    script.write_text("mine\n")
    refused = render(*call)
    assert (refused.returncode, script.read_text()) == (1, "mine\n")
    assert f"{script}: is there with other contents" in refused.stderr
    assert render(*call, "--force").returncode == 0
    assert script.read_text() != "mine\n"
    script.unlink()
    script.symlink_to(tmp_path / "elsewhere")
    assert render(*call, "--force").returncode == 1
    assert not (tmp_path / "elsewhere").exists()


def test_options_for_files_need_a_target(tmp_path: Path) -> None:
    done = render(SMOKE_NAME, "-o", str(tmp_path), "--force")
    assert done.returncode == 2
    assert done.stderr.count("add --target local") == 2


def test_a_folder_that_cannot_be_written_is_wrong_usage(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = render(SMOKE_NAME, "--target", "local", "-o", str(tmp_path / "file"))
    assert done.returncode == 2
    assert "file-writable" in done.stderr


def test_a_target_needs_its_own_kind_of_profile() -> None:
    profile = str(ROOT / "launch" / "clusters" / "slurm-p5en.yaml")
    other = render(NAME, "--target", "ssh", "--cluster", profile)
    assert other.returncode == 2
    assert "--target: ssh, but cluster profile slurm-p5en describes a place of the kind slurm" in other.stderr
    assert render(NAME, "--target", "slurm", "--cluster", profile).returncode == 0


def test_a_setting_that_breaks_the_recipe_prints_no_command() -> None:
    done = render(NAME, "--set", "layout.ep=30", "--json")
    assert done.returncode == 1
    assert {(p["file"], p["key"]) for p in json.loads(done.stdout)["problems"]} == {("--set", "layout.ep")}


def test_all_settings_that_break_the_recipe_are_told_beside_the_one_that_leaves_no_command() -> None:
    settings = ("layout.layer_split=[10, 15, 20, 15]", "layout.ep=30", "arguments.lr=abc")
    words = [word for setting in settings for word in ("--set", setting)]
    for more in ((), ("--cluster", str(ROOT / "launch" / "clusters" / "slurm-p5en.yaml"))):
        done = render(NAME, *words, "--json", *more)
        assert done.returncode == 1
        problems = json.loads(done.stdout)["problems"]
        assert {problem["key"] for problem in problems} == {"layout.layer_split", "layout.ep", "arguments.lr"}
        assert {problem["file"] for problem in problems} == {"--set"}


def bad(tmp_path: Path, *changes: tuple[str, str]) -> str:
    text = PUBLISHED[2].read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    return str(path)


UNSOUND = (("  ep: 32", "  ep: 30"), ("label: TP2 PP4", "label: TP4 PP4"))


@pytest.mark.parametrize("more", [(), ("--cluster", str(ROOT / "launch" / "clusters" / "slurm-p5en.yaml"))])
def test_a_recipe_whose_fields_check_refuses_has_no_command(tmp_path: Path, more: tuple[str, ...]) -> None:
    path = bad(tmp_path, *UNSOUND)
    done = render(path, *more)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"{path}:62:layout.ep: ep 30 does not divide the model's 512 experts" in done.stderr
    assert "layout.label: warning: TP4 PP4" in done.stderr
    still = render(path, "--set", "arguments.lr=2e-5", *more)
    assert still.returncode == 1
    assert f"{path}:62:layout.ep: ep 30 does not divide the model's 512 experts" in still.stderr
    mended = render(path, "--set", "layout.ep=16", *more)
    assert mended.returncode == 0, mended.stderr
    assert "ep 30" not in mended.stderr


def test_words_and_figures_that_are_wrong_are_told_and_the_command_is_printed(tmp_path: Path) -> None:
    done = render(bad(tmp_path, ("label: TP2 PP4", "label: TP4 PP4"), ("mfu: 0.054", "mfu: 0.064")))
    assert (done.returncode, done.stdout) == (0, render(NAME).stdout)
    assert [rule for rule in ("words-label", "figure-mfu") if f"[{rule}]" in done.stderr] == [
        "words-label",
        "figure-mfu",
    ]
    assert done.stderr.count("warning: ") == 2
