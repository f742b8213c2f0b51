"""The script of ssh hosts against a host that sends back what it likes: an ssh that plays."""

import io
import json
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from openrecipes.runs.directory import named_run_directory
from openrecipes.targets.profile import Profile
from openrecipes.targets.ssh import SshTarget
from openrecipes.targets.submit import submit, write_rendered

# Takes what it is given, ends at once, and hands over the archive beside it; what it is told to remove it notes.
SSH = """#!/bin/bash
own=${0%/*}
case "${@: -1}" in
  *--collect) cat "$own/given.tar" ;;
  rm*) echo "${@: -1}" >>"$own/removed" ;;
  *remote.sh*) exit 0 ;;
  *) cat >/dev/null ;;
esac
"""


def given(members: dict[str, bytes], *, whole: bool = True) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
        link = tarfile.TarInfo("log/link")
        link.type, link.linkname = tarfile.SYMTYPE, "/"
        archive.addfile(link)
    return packed.getvalue() if whole else packed.getvalue()[:700]


def ended(stage: Any, monkeypatch: pytest.MonkeyPatch, archive: bytes) -> tuple[Path, dict[str, Any], str]:
    """Run directory, job record and log of a launch on that host."""
    tools = stage.folder / "tools"
    tools.mkdir()
    (tools / "ssh").write_text(SSH)
    (tools / "ssh").chmod(0o755)
    (tools / "given.tar").write_bytes(archive)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    said = {"schema_version": 1, "name": "c", "target": "ssh", "preflight": "off", "ssh": {"hosts": ["n1"]}}
    launch = replace(stage.launch(), profile=Profile.model_validate_json(json.dumps(said)))
    rendered = SshTarget().render(launch)
    run = named_run_directory(stage.folder / "run's dir")
    write_rendered(rendered, run.rendered)
    submit(rendered, run).wait(60)
    return run.root, json.loads(run.job_file.read_text()), run.log.read_text()


HOSTILE = {
    "log/exit-0": b"7\n",
    "log/ray-n1.log": b"ray",
    "environment.json": b"{}",
    "job.json": b"forged",
    "run.json": b"forged",
    "rendered/launch.sh": b"forged",
    "../outside": b"forged",
    "log/../../outside": b"forged",
}


def test_a_run_gets_its_own_files_of_a_host_and_its_exit_status(stage: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    root, job, _ = ended(stage, monkeypatch, given(HOSTILE))
    assert job["exit_status"] == 7
    assert (root / "log" / "ray-n1.log").read_bytes() == b"ray"
    assert (root / "environment.json").exists()
    assert not [path for path in stage.folder.rglob("*") if path.is_file() and b"forged" in path.read_bytes()[:10]]
    assert not (root / "log" / "link").is_symlink()
    assert (stage.folder / "tools" / "removed").read_text().startswith("rm -rf /tmp/openrecipes-")


@pytest.mark.parametrize("status", [b"0; reboot\n", b"-1", b"", b"x" * 100])
def test_an_exit_status_that_is_none_is_a_lost_host(stage: Any, monkeypatch: pytest.MonkeyPatch, status: bytes) -> None:
    _, job, log = ended(stage, monkeypatch, given({"log/exit-0": status}))
    assert (job["exit_status"], job["cause"]) == (75, "the connection to n1 was lost (ssh ended with 0)")
    assert "command not found" not in log


def test_what_is_cut_off_stays_where_it_lies(stage: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    _, job, log = ended(stage, monkeypatch, given({"telemetry/n1.jsonl": b"x" * 900}, whole=False))
    assert job["exit_status"] == 75
    assert "openrecipes: what came back was a tar that cannot be read: " in log
    assert "what the run left on n1 was not collected; it lies in /tmp/openrecipes-" in log
    assert not (stage.folder / "tools" / "removed").exists()
