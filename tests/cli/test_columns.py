"""Plain text in columns."""

from openrecipes.cli.columns import columns


def test_cells_are_aligned_and_never_cut() -> None:
    assert columns([("a", "1"), ("long name", "20")], right=(1,)) == ("a           1", "long name  20")


def test_a_value_cannot_steer_the_terminal() -> None:
    (line,) = columns(
        [
            ("--lr", "\x1b]0;title\x07\x1b[2J"),
        ]
    )
    assert line.isprintable()
    assert "\\x1b]0;title\\x07" in line
