import json
from pathlib import Path

import pytest
from made_bundles import HOST, RECIPES, environment, made_run, members_of

from openrecipes.evidence.bundle import bundle
from openrecipes.evidence.verify import verify
from openrecipes.problems import ProblemsError, UsageError
from openrecipes.recipe.read import read_recipe


@pytest.mark.parametrize("name", RECIPES)
def test_the_bundle_of_a_real_run_gives_every_published_figure_again(tmp_path: Path, name: str) -> None:
    run, claim = made_run(tmp_path / "run", name)
    made = bundle(claim, [run.root], tmp_path / "b.tar.gz")
    found = verify(made.file)
    assert found.ok, found.problems
    figures = {figure.name: figure for figure in found.figures}
    stored = read_recipe(RECIPES[name]).recipe.result
    assert figures["tokens_per_s_per_gpu"].derived == stored.tokens_per_s_per_gpu
    assert figures["step_time_cv_percent"].derived == stored.step_time_cv_percent
    assert figures["mfu"].derived == stored.mfu
    assert figures["log_sha256"].derived == stored.log_sha256
    assert len(figures) >= 18
    assert not made.contents.redacted


def test_equal_runs_give_equal_bytes(tmp_path: Path) -> None:
    run, claim = made_run(tmp_path / "run")
    one, other = (bundle(claim, [run.root], tmp_path / name) for name in ("a.tar.gz", "b.tar.gz"))
    assert one.file.read_bytes() == other.file.read_bytes()


def test_two_runs_are_scored_as_one_result(tmp_path: Path) -> None:
    run, claim = made_run(tmp_path / "run")
    with pytest.raises(ProblemsError) as refused:
        bundle(claim, [run.root, run.root], tmp_path / "b.tar.gz")
    assert {problem.rule for problem in refused.value.problems} >= {"runs-repeated"}
    assert not (tmp_path / "b.tar.gz").exists()


def test_a_recipe_that_claims_other_figures_is_not_bundled(tmp_path: Path) -> None:
    run, _ = made_run(tmp_path / "run")
    with pytest.raises(ProblemsError) as refused:
        bundle(read_recipe(RECIPES["tp2"]), [run.root], tmp_path / "b.tar.gz")
    differs = [problem.place.key for problem in refused.value.problems if problem.rule == "figure-differs"]
    assert differs == ["result.render_sha256"]
    assert not (tmp_path / "b.tar.gz").exists()


def test_what_is_private_is_refused_with_its_place_and_nothing_is_written(tmp_path: Path) -> None:
    token = "hf_" + "a1B2" * 8
    env = environment(host=HOST, variables={"HF_TOKEN": token, "DATA": "/home/alice/data/rows"})
    run, claim = made_run(tmp_path / "run", host=HOST, env=env)
    with pytest.raises(ProblemsError) as refused:
        bundle(claim, [run.root], tmp_path / "b.tar.gz")
    problems = refused.value.problems
    assert {problem.rule for problem in problems} == {"private-secret", "private-host", "private-path"}
    assert all(problem.place.line for problem in problems)
    assert token not in "".join(map(str, problems))
    assert not (tmp_path / "b.tar.gz").exists()


def test_redacted_it_verifies_holds_both_hashes_and_nothing_private(tmp_path: Path) -> None:
    token = "hf_" + "a1B2" * 8
    env = environment(host=HOST, variables={"HF_TOKEN": token, "DATA": "/home/alice/data/rows"})
    said = f"{HOST}:12:34 [0] NCCL INFO at 10.1.2.3 by alice@example.net in /fsx/alice/run/x.py\n"
    run, claim = made_run(tmp_path / "run", host=HOST, env=env, more_log=said)
    made = bundle(claim, [run.root], tmp_path / "b.tar.gz", redact=True)
    assert verify(made.file).ok
    everything = b"".join(members_of(made.file).values())
    for private in (token, HOST, "alice", "10.1.2.3", "/fsx"):
        assert private.encode() not in everything, private
    listed = made.contents.find("run-1/log/train.log")
    assert listed is not None
    assert listed.is_redacted
    assert listed.original_sha256 == claim.recipe.result.log_sha256
    assert made.replaced["secret"] == 1
    assert {problem.rule for problem in verify(made.file).problems} == {"bundle-rows", "bundle-redacted"}


@pytest.mark.parametrize("name", ["environment.json", "steps.json", "rendered/launch.sh"])
def test_a_run_without_one_of_its_files_is_not_bundled(tmp_path: Path, name: str) -> None:
    run, claim = made_run(tmp_path / "run")
    (run.root / name).unlink()
    with pytest.raises(ProblemsError) as refused:
        bundle(claim, [run.root], tmp_path / "b.tar.gz")
    assert name in str(refused.value)


def test_a_link_in_a_run_directory_is_not_followed(tmp_path: Path) -> None:
    run, claim = made_run(tmp_path / "run")
    secret = tmp_path / "secret"
    secret.write_text("private")
    (run.root / "preflight.json").symlink_to(secret)
    with pytest.raises(ProblemsError) as refused:
        bundle(claim, [run.root], tmp_path / "b.tar.gz")
    assert "is a link" in str(refused.value)


def test_a_changed_script_is_not_the_launched_one(tmp_path: Path) -> None:
    run, claim = made_run(tmp_path / "run")
    (run.rendered / "launch.sh").write_text("#!/bin/bash\n")
    with pytest.raises(ProblemsError) as refused:
        bundle(claim, [run.root], tmp_path / "b.tar.gz")
    assert "launched" in str(refused.value)


def test_a_folder_that_is_no_run_is_wrong_usage(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        bundle(read_recipe(RECIPES["tp2"]), [tmp_path], tmp_path / "b.tar.gz")


def test_the_list_of_contents_comes_first_and_names_every_member(tmp_path: Path) -> None:
    run, claim = made_run(tmp_path / "run")
    members = members_of(bundle(claim, [run.root], tmp_path / "b.tar.gz").file)
    assert next(iter(members)) == "bundle.json"
    listed = [file["path"] for file in json.loads(members["bundle.json"])["files"]]
    assert listed == sorted(name for name in members if name != "bundle.json")
