"""Plain text in columns."""

from hypothesis import given
from hypothesis import strategies as st

from openrecipes.cli.columns import columns, explained


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


WORDS = st.lists(st.text("abc-/. ", max_size=130), min_size=3, max_size=3).map(tuple)
FIGURES = st.tuples(*[st.integers(0, 10**14).map(str)] * 3)


@given(st.lists(st.tuples(FIGURES, WORDS), min_size=1, max_size=5))
def test_words_go_on_below_and_figures_stay_in_one_piece(rows: list[tuple[tuple[str, ...], tuple[str, ...]]]) -> None:
    lines = columns([(figures[0], *words) for figures, words in rows], right=(0,))
    assert all(len(line) <= 80 for line in lines)
    assert sorted("".join(lines).replace(" ", "")) == sorted(
        "".join(figures[0] + "".join(words) for figures, words in rows).replace(" ", "")
    )
    assert all(any(figures[0] in line.split() for line in lines) for figures, _ in rows)


def test_words_are_not_split_where_they_need_not_be() -> None:
    rows = [
        ("--moe-token-dispatcher-type", "flex", "a reason of many words that is longer than what is left of a line")
    ]
    assert columns(rows) == (
        "--moe-token-dispatcher-type  flex  a reason of many words that is longer than",
        "                                   what is left of a line",
    )


def test_figures_make_the_page_wider_rather_than_be_cut() -> None:
    rows = [tuple("123456789012" for _ in range(8))]
    assert columns(rows, right=tuple(range(8))) == (" ".join(rows[0]),)


def test_a_reason_stands_below_its_row() -> None:
    rows = [("check", "figure"), ("one", "1"), ("another", "2")]
    assert tuple(explained(rows, ["since it is so", ""], right=(1,))) == (
        "check    figure",
        "one           1",
        "  since it is so",
        "another       2",
    )
