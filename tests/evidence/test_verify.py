"""Bundles that were tampered with: each is refused, and the refusal names what was."""

import gzip
import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from made_bundles import made_run, members_of, tampered

from openrecipes.evidence.bundle import bundle
from openrecipes.evidence.verify import Verified, held_against, verify
from openrecipes.problems import errors_in

LOG, RECORD = "run-1/log/train.log", "run-1/run.json"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundles")
    run, claim = made_run(folder / "run")
    return bundle(claim, [run.root], folder / "good.tar.gz").file


def _refused(found: Verified) -> list[tuple[str, str]]:
    """Rule and place of every error, after the general claims that hold of each refusal."""
    assert not found.ok
    errors = errors_in(found.problems)
    assert errors
    for problem in errors:
        assert "/tmp" not in problem.what, problem
        assert ".tar.gz" in problem.place.file
    return [(problem.rule, str(problem.place)) for problem in errors]


def _edited(bundle_file: Path, name: str, change: Callable[[str], str]) -> Path:
    before = members_of(bundle_file)[name].decode()
    after = change(before)
    assert after != before, f"nothing was changed in {name}"
    return tampered(bundle_file, {name: after.encode()})


def test_the_good_bundle_is_ok_and_gives_its_figures_as_json(made: Path) -> None:
    found = verify(made)
    assert found.ok
    document = json.loads(json.dumps(found.document()))
    assert document["ok"] is True
    assert {"name", "claimed", "derived", "ok"} == set(document["figures"][0])
    assert errors_in(found.problems) == ()


def test_repacking_alone_changes_nothing(made: Path) -> None:
    assert verify(tampered(made, {})).ok


FIGURES = [
    ("tokens_per_s_per_gpu", 0.01),
    ("step_time_cv_percent", 0.01),
    ("mfu", 0.01),
    ("mfu", 0.0001),
    ("gpu_hours", 0.01),
    ("window_tokens", 1),
    ("runs", 1),
]


@pytest.mark.parametrize(("name", "change"), FIGURES)
def test_a_figure_edited_by_a_hundredth_is_refused_by_name(made: Path, name: str, change: float) -> None:
    def edit(text: str) -> str:
        match = re.search(rf"^  {name}: (\S+)$", text, re.MULTILINE)
        assert match is not None
        value = round(yaml.safe_load(match[1]) + change, 4)
        return text.replace(match[0], f"  {name}: {value}")

    found = verify(_edited(made, "recipe.yaml", edit))
    assert any(rule == "figure-differs" and f"result.{name}" in place for rule, place in _refused(found))
    assert [figure.name for figure in found.figures if not figure.ok] == [name]


def test_the_figure_is_named_even_where_the_list_of_contents_still_has_the_old_hash(made: Path) -> None:
    recipe = members_of(made)["recipe.yaml"].replace(
        b"tokens_per_s_per_gpu: 20691.1\n", b"tokens_per_s_per_gpu: 20691.11\n"
    )
    found = verify(tampered(made, {"recipe.yaml": recipe}, relisted=False))
    refused = _refused(found)
    assert [rule for rule, _ in refused] == ["bundle-hash", "figure-differs"]
    assert "result.tokens_per_s_per_gpu" in refused[1][1]


@pytest.mark.parametrize("name", ["unsteady", "weights", "deviations", "log_sha256", "render_sha256"])
def test_what_speaks_against_a_result_may_not_be_left_out(tmp_path: Path, name: str) -> None:
    run, claim = made_run(tmp_path / "run", "tp1")
    good = bundle(claim, [run.root], tmp_path / "good.tar.gz").file

    def without(text: str) -> str:
        document = yaml.safe_load(text)
        del document["result"][name]
        return yaml.safe_dump(document, sort_keys=False)

    found = verify(_edited(good, "recipe.yaml", without))
    assert _refused(found)


def test_a_swapped_log_is_refused_however_much_is_made_to_agree_with_it(made: Path) -> None:
    faster = members_of(made)[LOG].decode().replace("'perf/step_time': 0.7", "'perf/step_time': 0.6")
    assert faster.encode() != members_of(made)[LOG]
    unlisted = verify(tampered(made, {LOG: faster.encode()}, relisted=False))
    assert ("bundle-hash", f"{made.with_name('tampered.tar.gz')}!{LOG}") in _refused(unlisted)
    listed = verify(tampered(made, {LOG: faster.encode()}))
    assert any(rule == "bundle-tie" and LOG in place for rule, place in _refused(listed))
    swapped = tampered(made, {LOG: faster.encode()})
    listing = json.loads(members_of(swapped)["bundle.json"])
    sha256 = next(file["sha256"] for file in listing["files"] if file["path"] == LOG)
    record = json.loads(members_of(made)[RECORD])
    record["log"]["sha256"] = sha256
    recorded = verify(tampered(made, {LOG: faster.encode(), RECORD: json.dumps(record).encode()}))
    assert _refused(recorded)


def test_a_log_that_is_compressed_itself_is_refused_before_it_is_read(made: Path) -> None:
    packed = gzip.compress(members_of(made)[LOG], mtime=0)
    record = json.loads(members_of(made)[RECORD])
    record["log"] |= {"sha256": hashlib.sha256(packed).hexdigest(), "size_bytes": len(packed)}
    found = verify(tampered(made, {LOG: packed, RECORD: json.dumps(record).encode()}))
    assert _refused(found) == [("bundle-packed", f"{made.with_name('tampered.tar.gz')}!{LOG}")]
    assert not found.figures


EDITS = [
    ("run-1/result.json", r'"tokens_per_s_per_gpu": (\d+)\.(\d)', r'"tokens_per_s_per_gpu": \g<1>.9', "figure-differs"),
    ("run-1/result.json", r'"scored_share": 0', '"scored_share": 1', "figure-differs"),
    ("run-1/result.json", r'"per_token": (\d)', r'"per_token": 1\g<1>', "figure-differs"),
    (RECORD, r'"steps_read": 14', '"steps_read": 15', "bundle-tie"),
    ("run-1/steps.json", r'"step_time_s": 0\.7', '"step_time_s": 0.6', "bundle-tie"),
    ("run-1/job.json", r'"exit_status": 0', '"exit_status": 1', "bundle-tie"),
    ("run-1/rendered/launch.sh", "train_async", "train_sync", "bundle-tie"),
    ("run-1/recipe.yaml", "global_batch: 4", "global_batch: 8", "bundle-tie"),
    (RECORD, r'"gpus": 2', '"gpus": 1', "bundle-tie"),
    (RECORD, r'"render_sha256": "[0-9a-e]', '"render_sha256": "f', "bundle-tie"),
    ("run-1/environment.json", "NVIDIA H200", "NVIDIA H100 80GB HBM3", "bundle-gpu"),
    ("run-1/environment.json", '"2.10.0"', '"2.11.0"', "stack-drift"),
    ("run-1/environment.json", '"host"', '"hots"', "run-record"),
    ("run-1/environment.json", "localhost", "gpu-node-17", "private-host"),
    ("run-1/environment.json", '"errors": {}', '"errors": {"a": "/home/alice/x"}', "private-path"),
    ("recipe.yaml", "global_batch: 4", "global_batch: 8", "result-of-another-workload"),
    ("recipe.yaml", "  tp: 2", "  tp: 1", "result-of-another-workload"),
    ("recipe.yaml", "schema_version: 1", "schema_version: 2", "schema-choice"),
    ("bundle.json", '"redacted": false', '"redacted": 3', "run-record"),
]


@pytest.mark.parametrize(("name", "old", "new", "rule"), EDITS)
def test_an_edited_file_is_refused(made: Path, name: str, old: str, new: str, rule: str) -> None:
    edited = _edited(made, name, lambda text: re.sub(old, new, text, count=1))
    if name == "bundle.json":
        members = members_of(made)
        changed = re.sub(old, new, members[name].decode(), count=1).encode()
        edited = tampered(made, {name: changed}, relisted=False)
    assert rule in [found for found, _ in _refused(verify(edited))]


def test_each_member_is_needed_and_no_other_may_be_there(made: Path) -> None:
    names = [name for name in members_of(made) if name not in ("run-1/result.json", "run-1/checkpoint.json")]
    assert len(names) == 9
    for name in names:
        refused = _refused(verify(tampered(made, {name: None}, relisted=name != "bundle.json")))
        assert any(name in place for _, place in refused), name
    for name in ("readme.txt", "run-1/extra.json", "run-1/rendered/other.sh", "run-2/run.json"):
        refused = _refused(verify(tampered(made, {name: b"x"})))
        assert ("bundle-extra", f"{made.with_name('tampered.tar.gz')}!{name}") in refused
        assert "bundle-extra" in [rule for rule, _ in _refused(verify(tampered(made, {name: b"x"}, relisted=False)))]


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.floats(0, 1, exclude_max=True), flip=st.integers(1, 255))
def test_no_byte_behind_the_gzip_header_can_change(made: Path, place: float, flip: int) -> None:
    data = bytearray(made.read_bytes())
    data[10 + int(place * (len(data) - 10))] ^= flip
    broken = made.with_name("broken.tar.gz")
    broken.write_bytes(data)
    assert not verify(broken).ok


def test_the_recipe_it_must_be_of_is_compared_byte_for_byte(made: Path, tmp_path: Path) -> None:
    same, other = tmp_path / "same.yaml", tmp_path / "other.yaml"
    same.write_bytes(members_of(made)["recipe.yaml"])
    other.write_bytes(members_of(made)["recipe.yaml"] + b"\n")
    assert held_against(verify(made), made, same).ok
    found = held_against(verify(made), made, other)
    assert not found.ok
    assert [problem.rule for problem in errors_in(found.problems)] == ["bundle-recipe"]
