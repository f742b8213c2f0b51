import shutil
from pathlib import Path

import pytest
import yaml
from made_bundles import ROOT, made_run

from openrecipes.compare.job_stack import job_stack
from openrecipes.problems import UsageError


@pytest.mark.parametrize("name", ["slurm-p5en", "eks-p5en", "slurm-infiniband-apptainer", "slurm-bare"])
def test_the_image_is_that_of_the_profile_where_the_job_could_not_tell(tmp_path: Path, name: str) -> None:
    run, _ = made_run(tmp_path / "run")
    assert job_stack(run).image is None
    file = ROOT / f"launch/clusters/{name}.yaml"
    shutil.copy(file, run.cluster)
    profile = yaml.safe_load(file.read_text())
    container = profile.get("container") or {}
    named = (profile.get("kubernetes") or {}).get("image") or container.get("image")
    found = job_stack(run).image
    assert (found is None) == (named is None)
    if named is not None:
        assert found is not None
        assert found.startswith(named)
        assert "sha256" in found


def test_a_profile_that_cannot_be_read_tells_nothing(tmp_path: Path) -> None:
    run, _ = made_run(tmp_path / "run")
    run.cluster.write_text("{")
    assert job_stack(run).image is None


def test_a_run_without_a_capture_is_refused(tmp_path: Path) -> None:
    run, _ = made_run(tmp_path / "run")
    run.environment.unlink()
    with pytest.raises(UsageError):
        job_stack(run)
