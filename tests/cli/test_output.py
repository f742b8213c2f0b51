"""What is printed: results for people, and nothing that steers their terminal."""

import pytest
from rich.console import Group
from rich.table import Table
from rich.text import Text

from openrecipes.cli import output


def page(words: str) -> Group:
    table = Table(box=None)
    table.add_column("author")
    table.add_row(Text(words, style="bold"))
    return Group(Text("head"), table)


@pytest.mark.parametrize("words", ["a\x1b[2Jb", "a\x1b]0;title\x07b", "a\x9bHb", "a\u202eb"])
def test_what_a_file_says_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str], words: str) -> None:
    output.result({}, as_json=False, text=page(words))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "head"
    assert all(line.isprintable() for line in lines)
    assert "\\x" in lines[2] or "\\u202e" in lines[2]


def test_colours_of_our_own_stay(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    output.result({}, as_json=False, text=page("plain"))
    assert "\x1b[1mplain" in capsys.readouterr().out
