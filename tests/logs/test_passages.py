"""A passage has the lines before it, however many there are."""

from hypothesis import given
from hypothesis import strategies as st

from openrecipes.logs.passages import PassageScanner

breaks = st.sampled_from(["\n", "\n\n", " \n", "\r", "\r\n"])
pieces = st.lists(st.tuples(st.integers(0, 300).map(lambda size: "a" * size), breaks), max_size=40)


@given(pieces)
def test_the_two_lines_before_a_passage_are_its_context(text: list[tuple[str, str]]) -> None:
    log = "".join(line + end for line, end in text) + "found it\n"
    scanner = PassageScanner("x.log", [b"found"], lambda line: line if line == "found it" else None)
    [passage] = [*scanner.feed(log.encode()), *scanner.close()]
    assert passage.before == "\n".join([line for line in log.splitlines()[:-1] if line.strip()][-2:])
