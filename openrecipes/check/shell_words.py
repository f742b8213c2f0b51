"""A text cut into words as a POSIX shell would cut it; nothing is ever run.

Only what a published command needs is read: words, quotes, variables, arrays, comments and continuation lines.
Whatever else a shell would do with the text is a fault with its line.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

# Published commands name slime's entry so; a shell would take it for a redirection.
PLACEHOLDER: Final = "<slime entry module>"
MAX_FAULTS: Final = 20

FaultKind = Literal["quotes", "heredoc", "operator", "substitution", "continuation"]

_ASSIGNMENT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_VARIABLE: Final = re.compile(r"\$(?:[A-Za-z_][A-Za-z0-9_]*|\{[^{}\n]*\}|[0-9@*#?$!-])")
_HEREDOC: Final = re.compile(r"<<-?[ \t]*(['\"]?)([A-Za-z_][A-Za-z0-9_]*)\1")
_OPERATOR: Final = re.compile(r"&&|\|\||;;|>>|>&|&>|[;&|<>()]")
_LATE_CONTINUATION: Final = re.compile(r"\\[ \t\r]+(?=\n|\Z)")
# A shell parts words at these blanks alone: a no-break space or a form feed belongs to its word.
_PLAIN: Final = re.compile(r"[^ \t\r\n\\'\"$`;&|<>()*?\[]+")
_IN_DOUBLE_QUOTES: Final = re.compile(r'[^"\\$`]+')


@dataclass(frozen=True, kw_only=True, slots=True)
class Word:
    """One word without its quotes; variables and `$(...)` stand as written. `line` counts from 0 in the text.

    `is_open`: a variable is put in before the word is used. `runs`: a program's output is. `is_pattern`: a
    bare `*`, `?` or `[` may be replaced by the names of files. `items`: the words of an array.
    """

    text: str
    raw: str
    line: int
    is_open: bool = False
    runs: bool = False
    is_pattern: bool = False
    items: tuple["Word", ...] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault:
    """Something that no published command may hold."""

    kind: FaultKind
    line: int
    what: str
    mend: str


def shell_words(text: str) -> tuple[tuple[tuple[Word, ...], ...], tuple[Fault, ...]]:
    """The words of each command of a text, assignments in front included, and what was wrong."""
    reader = _Reader(text)
    commands = tuple(reader.commands())
    return commands, tuple(reader.faults[:MAX_FAULTS])


class _Reader:
    """One pass over the text: where it stands, on which line, and what was wrong so far."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self.line = text, 0, 0
        self.faults: list[Fault] = []

    def commands(self) -> Iterator[tuple[Word, ...]]:
        """The words of each command, assignments in front included."""
        words: list[Word] = []
        while self.at < len(self.text):
            word, ends = self._step()
            if word is not None:
                words.append(word)
            if ends and words:
                yield tuple(words)
                words = []
        if words:
            yield tuple(words)

    def _step(self) -> tuple[Word | None, bool]:
        """The next word, if one starts here, and whether the command ends here."""
        if self._skipped_blank():
            return None, False
        if self.text[self.at] == "\n":
            self._move(1)
            return None, True
        if self.text.startswith(PLACEHOLDER, self.at):
            word = Word(text=PLACEHOLDER, raw=PLACEHOLDER, line=self.line)
            self._move(len(PLACEHOLDER))
            return word, False
        heredoc, operator = _HEREDOC.match(self.text, self.at), _OPERATOR.match(self.text, self.at)
        if heredoc:
            self._here_document(heredoc)
            return None, True
        if operator:
            what = f"`{operator[0]}` joins commands or files; a recipe holds one command and its exports"
            self._fault("operator", what, "remove it, or quote it if it belongs to a value")
            self._move(len(operator[0]))
            return None, True
        return self._word(), False

    def _skipped_blank(self) -> bool:
        """Moves over blanks, comments and continuations; whether there were any."""
        late = _LATE_CONTINUATION.match(self.text, self.at)
        if self.text[self.at] in " \t\r":
            self._move(1)
        elif self.text.startswith("\\\n", self.at):
            self._move(2)
        elif late:
            what = "a blank follows the backslash, so that the command ends in this line"
            self._fault("continuation", what, "remove the blank after the backslash")
            self._move(len(late[0]) + 1)
        elif self.text[self.at] == "#":
            end = self.text.find("\n", self.at)
            self._move((end if end >= 0 else len(self.text)) - self.at)
        else:
            return False
        return True

    def _word(self) -> Word:
        start, line = self.at, self.line
        text, flags = "", set[str]()
        while self.at < len(self.text):
            character = self.text[self.at]
            plain = _PLAIN.match(self.text, self.at)
            if plain:
                piece = plain[0]
                self._move(len(piece))
            elif character == "(" and _ASSIGNMENT.fullmatch(self.text, start, self.at):
                return Word(text=text, raw=self.text[start : self.at], line=line, items=tuple(self._array()))
            elif character in "*?[":
                flags.add("is_pattern")
                piece = self._taken(1)
            elif character in "'\"`$\\":
                piece = self._special(character, flags)
            else:
                break
            text += piece
        return Word(
            text=text,
            raw=self.text[start : self.at],
            line=line,
            is_open="is_open" in flags,
            runs="runs" in flags,
            is_pattern="is_pattern" in flags,
        )

    def _special(self, character: str, flags: set[str]) -> str:
        """What a quote, a dollar, a backtick or a backslash stands for."""
        if character == "'":
            return self._until("'", 1)[1:-1]
        if character == '"':
            return self._double_quoted(flags)
        if character in "`$":
            return self._dollar(flags)
        escaped = self._taken(2)[1:]
        return "" if escaped == "\n" else escaped

    def _double_quoted(self, flags: set[str]) -> str:
        line, text = self.line, ""
        self._move(1)
        while self.at < len(self.text):
            plain = _IN_DOUBLE_QUOTES.match(self.text, self.at)
            character = self.text[self.at]
            if plain:
                text += self._taken(len(plain[0]))
            elif character == '"':
                self._move(1)
                return text
            elif character == "\\":
                pair = self._taken(2)
                text += "" if pair == "\\\n" else (pair[1:] if pair[1:] in '"\\$`' else pair)
            else:
                text += self._dollar(flags)
        self._unclosed('"', line)
        return text

    def _dollar(self, flags: set[str]) -> str:
        """A variable, a command's output, or a lone dollar, as written."""
        if self.text[self.at] == "`":
            flags.add("runs")
            return self._until("`", 1)
        if self.text.startswith("$(", self.at):
            flags.add("runs")
            return self._parenthesised()
        if self.text.startswith("$'", self.at):
            self._move(1)
            return self._until("'", 1)[1:-1]
        variable = _VARIABLE.match(self.text, self.at)
        if variable:
            flags.add("is_open")
        return self._taken(len(variable[0]) if variable else 1)

    def _parenthesised(self) -> str:
        start, line, depth = self.at, self.line, 0
        self._move(1)
        while self.at < len(self.text):
            character = self.text[self.at]
            if character in "'\"`":
                self._until(character, 1)
                continue
            self._move(2 if character == "\\" else 1)
            depth += (character == "(") - (character == ")")
            if depth == 0:
                return self.text[start : self.at]
        self._unclosed("$(", line)
        return self.text[start:]

    def _array(self) -> Iterator[Word]:
        line = self.line
        self._move(1)
        while self.at < len(self.text):
            if self.text[self.at] == ")":
                self._move(1)
                return
            if self.text[self.at] == "\n":
                self._move(1)
            elif not self._skipped_blank():
                word, _ = self._step()
                if word is not None:
                    yield word
        self._unclosed("(", line)

    def _here_document(self, start: re.Match[str]) -> None:
        what = f"{start[0]} starts a here-document; a recipe holds one command and its exports"
        self._fault("heredoc", what, "pass the text in a file or a flag")
        body = self.text.find("\n", self.at)
        end = re.compile(rf"^[ \t]*{start[2]}$", re.MULTILINE).search(self.text, body + 1) if body >= 0 else None
        self._move((end.end() if end else len(self.text)) - self.at)

    def _until(self, quote: str, opening: int) -> str:
        start, line = self.at, self.line
        end = self.text.find(quote, self.at + opening)
        if end < 0:
            self._unclosed(quote, line)
            self._move(len(self.text) - self.at)
            return self.text[start:] + quote
        return self._taken(end + 1 - start)

    def _taken(self, length: int) -> str:
        piece = self.text[self.at : self.at + length]
        self._move(len(piece))
        return piece

    def _move(self, length: int) -> None:
        self.line += self.text.count("\n", self.at, self.at + length)
        self.at += length

    def _unclosed(self, opening: str, line: int) -> None:
        self._fault("quotes", f"{opening} is opened here and never closed", f"close it, or write \\{opening}", line)

    def _fault(self, kind: FaultKind, what: str, mend: str, line: int | None = None) -> None:
        self.faults.append(Fault(kind=kind, line=self.line if line is None else line, what=what, mend=mend))
