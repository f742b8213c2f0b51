import shlex
import shutil
import subprocess

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from varied_recipes import PUBLISHED

from openrecipes.check.shell_script import MAX_WORDS, read_script
from openrecipes.check.shell_words import MAX_FAULTS
from openrecipes.recipe.read import read_recipe


def words(text: str) -> list[list[str]]:
    script = read_script(text)
    assert script.faults == ()
    return [[word.text for word in command] for command in script.commands]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a b  c\n", ["a", "b", "c"]),
        ("a \\\n  b \\\n  c", ["a", "b", "c"]),
        ("a\\\nb", ["ab"]),
        ("a 'b c' \"d e\"", ["a", "b c", "d e"]),
        ("a 'b'\"c\"d", ["a", "bcd"]),
        ("a '\"' \"'\"", ["a", '"', "'"]),
        ('a "\\"\\$\\`\\\\\\q"', ["a", '"$`\\\\q']),
        ("a \\; \\& \\' \\ b", ["a", ";", "&", "'", " b"]),
        ("a ';' '&&' '<<EOF' '`x`' '$(y)'", ["a", ";", "&&", "<<EOF", "`x`", "$(y)"]),
        ("a # b c", ["a"]),
        ("# whole line\na b#c", ["a", "b#c"]),
        ("a '' \"\"", ["a", "", ""]),
        ("a 'first\nsecond'", ["a", "first\nsecond"]),
        ('a "first\\\nsecond"', ["a", "firstsecond"]),
        ("a --b=c", ["a", "--b=c"]),
        ("python3 -m <slime entry module> --async", ["python3", "-m", "<slime entry module>", "--async"]),
        ("a ü 'ñ' 漢字", ["a", "ü", "ñ", "漢字"]),
        ('a $X ${Y} "$Z" ${A[@]}', ["a", "$X", "${Y}", "$Z", "${A[@]}"]),
    ],
)
def test_words_are_those_of_a_shell(text: str, expected: list[str]) -> None:
    assert words(text) == [expected]


def test_variables_and_patterns_are_marked() -> None:
    (command,) = read_script("a $X '$X' \"$X\" [1]*2 '[1]' 5$ \"*\"").commands
    assert [word.is_open for word in command] == [False, True, False, True, False, False, False, False]
    assert [word.is_pattern for word in command] == [False, False, False, False, True, False, False, False]


def test_assignments_and_exports_are_read() -> None:
    script = read_script("A=1\nexport B='x y' C=$(hostname -s)\nD=2 cmd $A \"$D\"\nexport A\n")
    assert [(item.name, item.value.text, item.is_exported) for item in script.assignments] == [
        ("A", "1", False),
        ("B", "x y", True),
        ("C", "$(hostname -s)", True),
        ("D", "2", True),
    ]
    # D is set for the command alone, so the command line itself still has the old one.
    assert [[word.text for word in command] for command in script.commands] == [["cmd", "1", "$D"]]
    assert script.faults == ()


def test_an_array_is_put_in_where_it_is_named() -> None:
    text = "ARGS=(\n  --a 1  # why\n  --b 'x y'\n)\ncmd ${ARGS[@]} --c \"${ARGS[@]}\" ${OTHER[@]}\n"
    assert words(text) == [["cmd", "--a", "1", "--b", "x y", "--c", "--a", "1", "--b", "x y", "${OTHER[@]}"]]
    (command,) = read_script(text).commands
    assert [word.line for word in command[:5]] == [4, 1, 1, 2, 2]


@pytest.mark.parametrize(
    ("text", "kind", "line"),
    [
        ("a\nb 'c", "quotes", 1),
        ('a "b', "quotes", 0),
        ("a `b", "quotes", 0),
        ("a $(b", "quotes", 0),
        ('a "$(b"', "quotes", 0),
        ("A=(1 2", "quotes", 0),
        ("a\ncat <<EOF\nx\nEOF", "heredoc", 1),
        ("cat <<-'END'\nx\n\tEND", "heredoc", 0),
        ("a; b", "operator", 0),
        ("a && b", "operator", 0),
        ("a || b", "operator", 0),
        ("a | b", "operator", 0),
        ("a &", "operator", 0),
        ("a > b", "operator", 0),
        ("a 2>&1", "operator", 0),
        ("a < b", "operator", 0),
        ("(a)", "operator", 0),
        ("a `b`", "substitution", 0),
        ("a\nb $(c)", "substitution", 1),
        ('a "x $(c) y"', "substitution", 0),
        ("a <(b)", "operator", 0),
        ("a \\ \n --b", "continuation", 0),
        ("a \\\t\n --b", "continuation", 0),
        ("a \\\r\n --b", "continuation", 0),
    ],
)
def test_what_no_recipe_may_hold_is_a_fault_with_its_line(text: str, kind: str, line: int) -> None:
    faults = read_script(text).faults
    assert (kind, line) in [(fault.kind, fault.line) for fault in faults]
    assert {fault.kind for fault in faults} <= {kind, "operator"}
    assert all(fault.what and fault.mend for fault in faults)


def test_a_here_documents_body_is_no_command() -> None:
    script = read_script("cat <<EOF\nrm -rf / ; `x` 'open\nEOF\nnext one\n")
    assert [fault.kind for fault in script.faults] == ["heredoc"]
    assert [[word.text for word in command] for command in script.commands] == [["cat"], ["next", "one"]]


def test_an_evaluated_export_is_no_fault() -> None:
    assert read_script('export A=$([ "$N" -gt 0 ] && echo 1 || echo 0)\ncmd\n').faults == ()


@pytest.mark.parametrize("path", PUBLISHED, ids=lambda path: path.stem)
def test_published_commands_are_one_command_without_fault(path: object) -> None:
    run = read_recipe(path).recipe.run  # type: ignore[arg-type]
    script = read_script(run)
    assert script.faults == ()
    assert len(script.commands) == 1
    assert len(script.assignments) == 4
    lines = run.splitlines()
    for word in script.commands[0]:
        assert word.raw in lines[word.line]


# Everything that both readers know: no operators, variables, substitutions, comments.
plain = st.text(alphabet="ab1-=_.,:/ '\"\\\tü", max_size=40)


@given(plain)
def test_words_agree_with_shlex(text: str) -> None:
    text = text.replace("\\\t", "").replace("\\ ", "") + "x"
    try:
        expected = shlex.split(text)
    except ValueError:
        assert read_script(text).faults
        return
    script = read_script(f"cmd {text}")
    assert script.faults == ()
    assert [word.text for word in script.commands[0]] == ["cmd", *expected]


def test_only_blank_tab_and_newline_part_words() -> None:
    (words,) = read_script("a\fb\xa0c\u2028d e\tf").commands
    assert [word.text for word in words] == ["a\fb\xa0c\u2028d", "e", "f"]


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20), max_size=8))
def test_quoted_words_come_back(items: list[str]) -> None:
    script = read_script(shlex.join(["cmd", *items]))
    assert script.faults == ()
    assert [word.text for word in script.commands[0]] == ["cmd", *items]


@given(st.text(alphabet="ab '\"\\\n\t\r\f\v\xa0\u2028\0$`(){}[]<>;&|#=@~*?!é", max_size=80))
@example("a\fb \u2028")
def test_any_text_is_read_to_its_end_without_an_exception(text: str) -> None:
    script = read_script(text)
    assert len(script.faults) <= 2 * MAX_FAULTS
    for command in script.commands:
        assert command


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not here")
def test_words_agree_with_bash_over_a_table_of_quotings() -> None:
    pieces = [
        "a",
        "'b c'",
        '"d e"',
        "\\'",
        "'\"'",
        '"\'"',
        "f\\\ng",
        '"h\\\ni"',
        "j#k",
        "''",
        '"\\$x"',
        "l\\ m",
        "'n\no'",
    ]
    texts = [f"{first}{second} {third}" for first in pieces for second in pieces for third in pieces[:6]]
    # One shell for all: each text's words as a line of NUL-free hexadecimal would be slow, so count and join.
    program = "".join(f"w=({text})\nprintf '%s\\1' \"${{w[@]}}\"\nprintf '\\2'\n" for text in texts)
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True)
    answers = [answer.split("\1")[:-1] for answer in done.stdout.split("\2")[:-1]]
    assert len(answers) == len(texts) > 900
    for text, answer in zip(texts, answers, strict=True):
        assert words(f"cmd {text}") == [["cmd", *answer]], text


def test_an_array_named_many_times_does_not_fill_the_memory() -> None:
    text = f"X=({'a ' * 20_000})\ncmd {'${X[@]} ' * 5_000}"
    (command,) = read_script(text).commands
    assert len(command) <= MAX_WORDS


def test_faults_are_counted_out() -> None:
    assert len(read_script("a;" * 5_000).faults) <= MAX_FAULTS
