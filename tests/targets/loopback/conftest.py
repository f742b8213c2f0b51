"""A loopback cluster for all tests here, and a folder to launch from for each."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from loopback import TOOLS, Loopback, Site, loopback


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.slow)
            item.add_marker(pytest.mark.tool(*TOOLS))


@pytest.fixture(scope="session")
def cluster() -> Iterator[Loopback]:
    if os.geteuid() != 0:
        pytest.skip("only root may make a network of its own")
    # Not pytest's own folder: munge refuses one that not everybody may pass, and a socket's path is short.
    with tempfile.TemporaryDirectory(prefix="loopback-") as folder:
        Path(folder).chmod(0o755)
        with loopback(Path(folder)) as up:
            yield up


@pytest.fixture
def site(cluster: Loopback, tmp_path: Path) -> Iterator[Site]:
    # Everybody's paths are like this sooner or later.
    folder = tmp_path / "a 'b' $c \"d\""
    folder.mkdir()
    yield Site(cluster, folder)
    left = cluster.queue()
    if left:
        cluster.run("scancel", *left)
    assert left == [], "a job was left behind"
