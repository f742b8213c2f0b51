"""All problems of all inputs of a call come in one run, in file order, as two-line problems."""

import json
from pathlib import Path

import pytest
from called import ROOT, openrecipes

GOOD = ROOT / "recipes/qwen3.5-397b-a17b/h200/attune-tp2-pp4-ep32.yaml"

# A call whose inputs are all wrong, and what each of its problems is about.
WRONG = {
    "steps no1 no2": ["no1", "no2"],
    "diagnose no1 no2 --recipe no3": ["no1", "no2", "no3"],
    "watch no1 no2 --recipe no3": ["no1", "no2", "no3"],
    "compare no1 no2 --recipe no3": ["no1", "no2", "no3"],
    "compare zero.yaml less.yaml": ["less.yaml", "zero.yaml"],
    "correctness configuration no1 no2 --candidate-log no3": ["no1", "no2", "no3"],
    "correctness configuration zero.yaml less.yaml": ["less.yaml", "zero.yaml"],
    "correctness convergence no1 no2 --write no3 --frozen no4 --repeat no5 --rule no6": [
        *["--rule", "no1", "no2", "no3", "no4", "no5"]
    ],
    "correctness verify no1 --candidate-log no2 --reference no3": ["no1", "no2", "no3"],
    "correctness component adam --write no1 -o no2/entry.yaml": ["component", "no1", "no2/entry.yaml"],
    "score no1 no2 no3 --rule no4": ["--rule", "no1", "no2", "no3"],
    "score no1 train.log no3": ["no1", "no3"],
    "bundle no1 no2 no3 -o made.tar.gz": ["no1", "no2", "no3"],
    "env --against no1 --write no2 --run no3": ["no1", "no2", "no3"],
    "data build --recipe no1 --source no2 --tokenizer no3 -o there.parquet": ["no1", "no2", "no3", "there.parquet"],
    "data verify no1 --recipe no2": ["no1", "no2"],
    "verify no1 --recipe no2": ["no1", "no2"],
    "plan --model no1 --gpu no2 --gpus 8": ["--gpu", "model"],
    "rank --model no1 --gpu no2": ["--gpu", "--model"],
    "new there.yaml --from no1": ["no1", "there.yaml"],
    "site build -o made --base-url no1 --repository no2": ["--base-url", "--repository"],
    "site steps no1 no2 --reference no3": ["no1", "no2", "no3"],
    "render no1 --cluster no2.yaml": ["no1", "no2.yaml"],
    "render no1 -o there.yaml": ["-o", "no1"],
    "render good.yaml --target slurm --cluster no1.yaml --set no2=1": ["--set", "no1.yaml"],
    "render good.yaml --target no1 --set no2=1": ["--target", "--set"],
    "render no1 --target ssh --cluster slurm-p5en": ["--target", "no1"],
    "launch no1 --cluster no2.yaml --target no3": ["--target", "no1", "no2.yaml"],
    "launch good.yaml --dry-run --cluster no1.yaml --set no2=1": ["--set", "no1.yaml"],
    "run no1 --cluster no2.yaml --against no3": ["no1", "no2.yaml", "no3"],
    "run good.yaml --cluster no1.yaml --set no2=1": ["--set", "no1.yaml"],
    "preflight --recipe no1 --cluster no2.yaml": ["no1", "no2.yaml"],
    "checkpoint verify no1 --cluster no2.yaml": ["no1", "no2.yaml"],
    "checkpoint prepare no1 --cluster no2.yaml": ["no1", "no2.yaml"],
    "arguments snapshot --slime no1 --megatron no2 -o made.json": ["no1", "no2"],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two unsound recipes, a log, and files in the way."""
    folder = tmp_path_factory.mktemp("inputs")
    for name, degree in (("zero", "0"), ("less", "-3")):
        (folder / f"{name}.yaml").write_text(GOOD.read_text().replace("tp: 2", f"tp: {degree}"))
    (folder / "good.yaml").write_text(GOOD.read_text())
    for name in ("there.parquet", "there.yaml", "train.log"):
        (folder / name).write_text("some text\n")
    return folder


@pytest.mark.parametrize("call", WRONG)
def test_every_wrong_input_of_a_call_is_named(call: str, folder: Path) -> None:
    before = sorted(folder.iterdir())
    ended = openrecipes(*call.split(), "--json", folder=folder)
    problems = json.loads(ended.stdout)["problems"]
    assert [problem["file"] or problem["key"] for problem in problems] == WRONG[call], ended.stderr
    assert ended.returncode == (1 if "zero" in call else 2)
    assert sorted(folder.iterdir()) == before
