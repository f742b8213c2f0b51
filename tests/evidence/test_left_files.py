"""What a run left beside its log stands by hash in its record, and a bundle in which it differs is refused."""

from pathlib import Path

import pytest
from made_bundles import made_run, members_of, tampered

from openrecipes.evidence.bundle import bundle
from openrecipes.evidence.verify import verify
from openrecipes.problems import errors_in
from openrecipes.runs.left_files import left_files

ENVIRONMENT = "run-1/environment.json"


@pytest.fixture(scope="module", params=["localhost", "ip-10-1-2-3"])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Telemetry of one host, which is redacted where its name tells who it is."""
    host = str(request.param)
    folder = tmp_path_factory.mktemp("bundles")
    run, claim = made_run(folder / "run")
    (run.root / "telemetry").mkdir()
    (run.root / "telemetry" / f"{host}.jsonl").write_text(f'{{"interval_s": 1.0, "host": "{host}"}}\n')
    run.write_record(run.record().model_copy(update={"left": left_files(run)}))
    return bundle(claim, [run.root], folder / "good.tar.gz", redact=host != "localhost").file


def refused(file: Path) -> set[tuple[str, str]]:
    problems = errors_in(verify(file).problems)
    return {(problem.rule, problem.place.file.rpartition("!")[2]) for problem in problems}


def samples_of(file: Path) -> str:
    (name,) = [name for name in members_of(file) if "/telemetry/" in name]
    return name


def test_as_the_run_left_it_a_bundle_holds(made: Path) -> None:
    assert ENVIRONMENT in members_of(made)
    assert "10-1-2-3" not in samples_of(made)
    assert refused(made) == set()


@pytest.mark.parametrize("name", [ENVIRONMENT, "run-1/checkpoint.json", None])
def test_a_file_with_other_bytes_is_named(made: Path, name: str | None) -> None:
    file = name or samples_of(made)
    assert ("bundle-tie", file) in refused(tampered(made, {file: members_of(made)[file] + b"\n"}))


def test_a_file_too_many_or_too_few_is_named(made: Path) -> None:
    more = tampered(made, {"run-1/telemetry/three.jsonl": b"{}\n"})
    assert ("bundle-tie", "run-1/telemetry/three.jsonl") in refused(more)
    less = tampered(made, {samples_of(made): None})
    assert ("bundle-tie", "run-1/telemetry") in refused(less)
