import subprocess

import jinja2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openrecipes.shipped import shipped
from openrecipes.targets.templates import ShellText, program, quoted, shell_script

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=60)


@given(TEXT)
def test_a_quoted_value_is_one_word_that_the_shell_reads_back(value):
    command = f"printf %s {quoted(value)}".encode()
    ran = subprocess.run(["bash", "-c", command], capture_output=True, check=True)
    assert ran.stdout == value.encode()
    assert not ran.stderr


def test_every_value_of_a_template_is_quoted_unless_it_is_shell_text():
    values = {"argument_words": [("--flag", "a b", "$HOME", ShellText('"$HF_CKPT"'), 7)]}
    text = shell_script("parts/arguments.sh.j2", **values)
    assert text == "arguments=(\n  --flag 'a b' '$HOME' \"$HF_CKPT\" 7\n)\n"


def test_a_value_that_is_missing_or_no_text_is_refused():
    with pytest.raises(jinja2.UndefinedError, match="argument_words"):
        shell_script("parts/arguments.sh.j2")
    for value in (None, True, 1.5, "a\0b"):
        with pytest.raises(ValueError, match="cannot stand in a shell script"):
            quoted(value)


def test_a_program_is_read_as_it_is():
    assert program("smoke_sft.py") == shipped("launch", "smoke_sft.py").read_text()
