"""Rules that the reader reports itself: what is YAML, and what each field may hold."""

from typing import Final

from openrecipes.check.rule import Rule, Section


def _read(id: str, says: str) -> Rule:  # noqa: A002
    return Rule(id=id, section=Section.READING, says=says, severity="error", find=None)


READING_RULES: Final = (
    _read("file-readable", "the file exists, may be read, and has a size that a recipe can have."),
    _read("yaml-utf8", "the file is UTF-8."),
    _read("yaml-syntax", "the file is YAML."),
    _read("yaml-mapping", "the file holds `key: value` lines."),
    _read("yaml-key", "a key is one word."),
    _read("yaml-duplicate-key", "no key stands twice in one block; YAML would keep the last in silence."),
    _read("yaml-depth", "no value lies deeper than 40 levels."),
    _read("yaml-tag", "no tags such as `!!float`."),
    _read("yaml-anchor", "no anchors and aliases: a hundred bytes could stand for gigabytes."),
    _read("yaml-value", "every value is one that YAML can read."),
    _read("yaml-number-as-text", "no number that YAML reads as text, such as `1e-5`."),
    _read("yaml-word-as-boolean", "no word that YAML reads as a truth value, such as `no`."),
    _read("yaml-base-60", "no number that YAML reads in base 60, such as `1:30`."),
    _read("yaml-octal", "no number with a leading zero, which YAML reads in base 8."),
    _read("yaml-base", "no number in another base than 10, such as `0x1F`."),
    _read("yaml-underscore", "no number with underscores, such as `1_4`, which YAML reads as 14."),
    _read("schema-missing-key", "every required key is there."),
    _read("schema-unknown-key", "every key is one of the schema's."),
    _read("schema-kind", "every value is of its key's kind: text, number, day, list, block."),
    _read("schema-choice", "a value of a closed set is one of it."),
    _read("schema-range", "a number is within its key's bounds."),
    _read("schema-length", "a text or list has a length within its key's bounds."),
    _read("schema-pattern", "a text has the form that its key asks for."),
)
