import contextlib
import datetime
import os
import threading
from pathlib import Path

import pytest
import yaml
from hypothesis import assume, given
from hypothesis import strategies as st

from openrecipes.bare_scalars import needs_quotes
from openrecipes.located_yaml import MAX_BYTES, LocatedDocument, dotted, located_yaml, read_text
from openrecipes.problems import Problem, ProblemsError, UsageError


def read(text: str) -> LocatedDocument:
    return located_yaml(text, "f.yaml")


def only_problem(text: str) -> Problem:
    (problem,) = read(text).problems
    return problem


def refusal(text: str) -> Problem:
    with pytest.raises(ProblemsError) as caught:
        read(text)
    return caught.value.problems[-1]


TEXT = """\
# a comment
gpu:
  count: 128
  list:
  - one

  - {deep: 'two'}
text: |
  first

  third
folded: a b
  c
day: 2026-10-11
"""


def test_values_are_what_yaml_reads() -> None:
    assert read(TEXT).value == yaml.safe_load(TEXT)
    assert read(TEXT).value["day"] == datetime.date(2026, 10, 11)


@pytest.mark.parametrize(
    ("key", "lines", "written", "style"),
    [
        ("gpu", (2, 3, 7), None, ""),
        ("gpu.count", (3, 3, 3), "128", ""),
        ("gpu.list[0]", (5, 5, 5), "one", ""),
        ("gpu.list[1].deep", (7, 7, 7), "two", "'"),
        ("text", (8, 8, 11), "first\n\nthird\n", "|"),
        ("folded", (12, 12, 13), "a b c", ""),
        ("day", (14, 14, 14), "2026-10-11", ""),
    ],
)
def test_every_key_knows_its_lines(key: str, lines: tuple[int, int, int], written: str | None, style: str) -> None:
    span = read(TEXT).span(key)
    assert span is not None
    assert (span.key_line, span.first_line, span.last_line) == lines
    assert (span.written, span.style) == (written, style)


def test_a_missing_key_has_the_line_of_the_nearest_key_around_it() -> None:
    assert read(TEXT).place("gpu.memory").line == 2
    assert str(read(TEXT).place("gpu.memory")) == "f.yaml:2:gpu.memory"
    assert read(TEXT).place("nothing.at.all").line == 1


def test_a_line_of_a_block_text_has_its_line_in_the_file() -> None:
    document = read(TEXT)
    for index, text in enumerate(("first", "", "third")):
        assert TEXT.splitlines()[document.line_within("text", index) - 1].strip() == text
    assert document.line_within("folded", 1) == 12  # where lines are folded, only the key's own is known


@pytest.mark.parametrize(
    ("written", "rule", "mend"),
    [
        ("1e-5", "yaml-number-as-text", "1.0e-5"),
        ("8e-05", "yaml-number-as-text", "8.0e-05"),
        ("2E5", "yaml-number-as-text", "2.0e+5"),
        ("-1.5e3", "yaml-number-as-text", "-1.5e+3"),
        (".5e3", "yaml-number-as-text", ".5e+3"),
        ("yes", "yaml-word-as-boolean", "true or false"),
        ("No", "yaml-word-as-boolean", "true or false"),
        ("off", "yaml-word-as-boolean", "true or false"),
        ("12:30", "yaml-base-60", "'12:30'"),
        ("1:30:00.5", "yaml-base-60", "'1:30:00.5'"),
        ("010", "yaml-octal", "10"),
        ("00", "yaml-octal", "0"),
        ("0x1F", "yaml-base", "31"),
        ("-0b11", "yaml-base", "-3"),
        ("0o17", "yaml-base", "15"),
        ("0X1f", "yaml-base", "31"),
        ("0x" + "f" * 99, "yaml-base", "base 10"),
        ("1_4", "yaml-underscore", "14"),
        ("1_000.5", "yaml-underscore", "1000.5"),
        ("1__0", "yaml-underscore", "10"),
        ("9" * 500, "yaml-value", "number"),
        ("1." + "0" * 500, "yaml-value", "number"),
        ("2026-02-30", "yaml-value", "2026-10-11"),
    ],
)
def test_a_bare_value_that_yaml_reads_otherwise_is_a_problem(written: str, rule: str, mend: str) -> None:
    problem = only_problem(f"a: 1\nb: {written}\n")
    assert (problem.rule, problem.place.line, problem.place.key) == (rule, 2, "b")
    assert mend in problem.mend
    assert read(f"a: 1\nb: {written}\n").unread == {("b",)}
    assert read(f"b: '{written}'\n").problems == ()
    assert read(f"b: '{written}'\n").value == {"b": written}


@pytest.mark.parametrize(
    "written", ["1.0e-5", "1.5e+3", "true", "False", "0", "10", "0.1", "0x", "a_1", "_1", "~", "y", "1.2.3"]
)
def test_a_bare_value_that_yaml_reads_as_it_looks_is_none(written: str) -> None:
    assert read(f"a: {written}\n").problems == ()
    assert read(f"a: {written}\n").value == yaml.safe_load(f"a: {written}\n")


def test_the_mend_of_a_number_as_text_is_that_number() -> None:
    mended = only_problem("lr: 1e-5\n").mend.removeprefix("write ").partition(",")[0]
    assert yaml.safe_load(mended) == 1e-5


def test_of_two_equal_keys_the_first_is_kept_and_the_second_told() -> None:
    document = read("a: 1\nb: {c: 2, c: {d: [3]}, e: 4}\na: 5\n")
    assert document.value == {"a": 1, "b": {"c": 2, "e": 4}}
    assert [(p.rule, p.place.line, p.place.key) for p in document.problems] == [
        ("yaml-duplicate-key", 2, "b.c"),
        ("yaml-duplicate-key", 3, "a"),
    ]
    assert "line 1" in document.problems[1].what


def test_anchors_aliases_and_tags_are_told_each() -> None:
    document = read("a: &x [1, 2]\nb: *x\nc: !!float 1\nd: !!python/object:os.system {}\ne: 5\n")
    assert [(p.rule, p.place.line, p.place.key) for p in document.problems] == [
        ("yaml-anchor", 1, "a"),
        ("yaml-anchor", 2, "b"),
        ("yaml-tag", 3, "c"),
        ("yaml-tag", 4, "d"),
    ]
    assert document.value["e"] == 5
    assert document.unread == {("b",)}


def test_a_bomb_of_aliases_stays_small() -> None:
    bomb = "a0: &a0 [x, x]\n" + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 60))
    document = read(bomb)
    assert {problem.rule for problem in document.problems} == {"yaml-anchor"}
    assert document.value["a59"] == [None] * 9


def test_an_alias_of_itself_is_told() -> None:
    assert {problem.rule for problem in read("a: &a [*a]\n").problems} == {"yaml-anchor"}


def test_keys_that_are_no_words_are_told_and_passed_over() -> None:
    document = read("? [a, b]\n: {c: 1}\n? {d: 1}\n: 2\ne: 3\n")
    assert [(p.rule, p.place.line) for p in document.problems] == [("yaml-key", 1), ("yaml-key", 3)]
    assert document.value == {"e": 3}


def test_a_merge_key_is_a_key_like_any_other() -> None:
    assert read("<<: {a: 1}\n").value == {"<<": {"a": 1}}


@pytest.mark.parametrize(
    ("text", "line", "mend"),
    [
        ("a: 1\nb: [1, 2\nc: 3\n", 3, "bracket"),
        ("a: {b: 1\n", 2, "bracket"),
        ("a: 'open\nb: 1\n", 3, "quote"),
        ("a: b: c\n", 1, "quote the value"),
        ("a: 1\n  b: 2\n", 2, "indent"),
        ("a:\n  b: 1\n c: 2\n", 3, "indent"),
        ("a: 1\n\tb: 2\n", 2, "spaces"),
        ("a: @home\n", 1, "quote"),
        ('a: "\\q"\n', 1, "single quotes"),
        ("a: 1\njust a line\n", 3, "key: value"),
        ("- a\nb: 1\n", 2, "- "),
        ("%YAML 9.0\n---\na: 1\n", 1, "mend"),
    ],
)
def test_text_that_is_no_yaml_has_its_line_and_a_mend(text: str, line: int, mend: str) -> None:
    problem = refusal(text)
    assert problem.rule == "yaml-syntax"
    assert problem.place.line in (line, line - 1), problem
    assert mend in problem.mend


def test_what_was_wrong_before_the_syntax_error_is_told_too() -> None:
    with pytest.raises(ProblemsError) as caught:
        read("a: 1\na: 2\nb: [\n")
    assert [problem.rule for problem in caught.value.problems] == ["yaml-duplicate-key", "yaml-syntax"]


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("", "nothing"),
        ("# only a comment\n", "nothing"),
        ("- a\n", "a list"),
        ("word\n", "one value"),
        ("---\n...\n", "nothing"),
    ],
)
def test_a_file_without_keys_says_what_it_holds(text: str, held: str) -> None:
    problem = refusal(text)
    assert problem.rule == "yaml-mapping"
    assert held in problem.what


@pytest.mark.parametrize("deep", [41, 500, 100_000])
def test_deep_nests_end_neither_the_process_nor_the_report(deep: int) -> None:
    assert refusal("a: " + "[" * deep + "]" * deep).rule == "yaml-depth"
    assert refusal("a: " + "{a: " * deep + "1" + "}" * deep).rule == "yaml-depth"


def test_a_second_document_is_told_and_the_first_is_read() -> None:
    document = read("a: 1\n---\nb: 2\n")
    assert document.value == {"a": 1}
    assert [(p.rule, p.place.line) for p in document.problems] == [("yaml-syntax", 2)]


@pytest.mark.parametrize("character", ["\0", "\x07", "￾"])
def test_characters_that_yaml_forbids_are_named(character: str) -> None:
    problem = refusal(f"a: 1\nb: x{character}\n")
    assert problem.rule == "yaml-syntax"
    assert f"U+{ord(character):04X}" in problem.what


def test_windows_line_ends_and_a_byte_order_mark_are_read() -> None:
    document = read("\ufeffa: 1\r\nb: 2\r\n")
    assert document.value == {"a": 1, "b": 2}
    assert document.place("b").line == 2


def test_problem_texts_name_no_python_type() -> None:
    for text in ("a: 1e-5\n", "a: yes\n", "a: &x 1\n", "a: 2026-99-99\n", "a: " + "9" * 9000 + "\n", "a: !!set {}\n"):
        told = str(only_problem(text))
        assert not any(word in told for word in ("int", "str", "float", "NoneType", "dict", "ValueError", "Traceback"))
        assert len(told) < 400


keys = st.text(alphabet="abcdefgh_", min_size=1, max_size=6)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(10**12), 10**12)
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_characters="\x85\u2028\u2029", codec="utf-8"), max_size=30)
)
trees = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4), max_leaves=20
)


@given(st.dictionaries(keys, trees, min_size=1, max_size=6), st.booleans())
def test_what_pyyaml_writes_is_read_back_without_a_problem(data: dict[str, object], flow: bool) -> None:
    text = yaml.dump(data, Dumper=_NoAliases, default_flow_style=flow, allow_unicode=True)
    document = read(text)
    texts = [leaf for leaf in _leaves(data) if isinstance(leaf, str)]
    assert bool(document.problems) == any(needs_quotes(text) for text in texts)
    assume(not document.problems)
    assert document.value == data
    lines = text.splitlines()
    for path, span in document.spans.items():
        assert 1 <= span.key_line <= span.first_line <= span.last_line <= len(lines)
        if isinstance(path[-1], str) and not flow:
            assert path[-1] in lines[span.key_line - 1]


def _leaves(value: object) -> list[object]:
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in _leaves(item)]
    return [leaf for item in value for leaf in _leaves(item)] if isinstance(value, list) else [value]


class _NoAliases(yaml.SafeDumper):
    def ignore_aliases(self, data: object) -> bool:
        return True


@given(st.text(max_size=300))
def test_no_text_ends_in_anything_but_a_document_or_problems(text: str) -> None:
    with contextlib.suppress(ProblemsError):
        assert isinstance(read(text).value, dict)


@given(st.lists(st.integers(0, 9) | keys, min_size=1, max_size=5))
def test_dotted_keys_lead_back_to_their_path(path: list[int | str]) -> None:
    document = LocatedDocument(file="", text="", value={}, spans={})
    assert document.place(dotted(tuple(path))).key == dotted(tuple(path))


def test_files_that_cannot_be_read_are_usage_errors(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.yaml", tmp_path / ("x" * 300)):
        with pytest.raises(UsageError) as caught:
            read_text(path)
        assert caught.value.problems[0].rule == "file-readable"
        assert caught.value.problems[0].place.file == str(path)


def test_a_file_too_large_is_not_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "large.yaml"
    with path.open("wb") as stream:
        stream.truncate(MAX_BYTES + 1)
    with pytest.raises(UsageError, match=f"{MAX_BYTES:,}"):
        read_text(path)


@pytest.mark.parametrize("device", ["/dev/zero"])
def test_an_endless_file_ends(device: str) -> None:
    with pytest.raises(UsageError, match="larger"):
        read_text(Path(device))


def test_a_pipe_that_gives_its_text_once_is_read_by_all() -> None:
    end, start = os.pipe()
    os.write(start, b"model: a\n")
    os.close(start)
    path = Path(f"/dev/fd/{end}")
    assert read_text(path) == read_text(path) == "model: a\n"
    os.close(end)


def test_a_pipe_without_a_writer_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "pipe.yaml"
    os.mkfifo(path)
    monkeypatch.setattr("openrecipes.located_yaml.PIPE_PATIENCE_S", 0.01)
    with pytest.raises(UsageError, match="nothing wrote to it"):
        read_text(path)
    writer = os.open(path, os.O_RDWR)  # opens without waiting for a reader
    os.write(writer, b"model: a\n")
    threading.Timer(0.05, os.close, [writer]).start()
    assert read_text(path) == "model: a\n"


def test_other_encodings_are_named_with_byte_and_line(tmp_path: Path) -> None:
    path = tmp_path / "latin.yaml"
    path.write_bytes("a: 1\nname: Müller\n".encode("latin-1"))
    with pytest.raises(ProblemsError, match="0xfc") as caught:
        read_text(path)
    assert (caught.value.problems[0].rule, caught.value.problems[0].place.line) == ("yaml-utf8", 2)
