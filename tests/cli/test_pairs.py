"""Names and values on a narrow page."""

import pytest

from openrecipes.cli import output
from openrecipes.cli.pairs import pairs


def test_a_long_path_is_never_cut_short(capsys: pytest.CaptureFixture[str]) -> None:
    path = "/" + "/".join(f"folder-{number}" for number in range(40))
    output.result({}, as_json=False, text=pairs([("file", path), ("lines", "one\ntwo")]))
    shown = capsys.readouterr().out
    assert "…" not in shown
    assert path in "".join(line.removeprefix("file").strip() for line in shown.splitlines())
    assert [line.split()[-1] for line in shown.splitlines()[-2:]] == ["one", "two"]
