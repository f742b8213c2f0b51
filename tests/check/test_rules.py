import re
from collections import Counter

from openrecipes.check import (
    arguments,
    command,
    data,
    environment,
    evidence,
    figures,
    hardware,
    layout,
    paths,
    reading,
    words,
)
from openrecipes.check.all_rules import ALL_RULES
from openrecipes.check.rule import Rule, Section
from openrecipes.check.rules_page import rules_page

MODULES = (arguments, command, data, environment, evidence, figures, hardware, layout, paths, reading, words)


def test_ids_are_unique_and_in_kebab_case() -> None:
    ids = Counter(rule.id for rule in ALL_RULES)
    assert max(ids.values()) == 1
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", id_) for id_ in ids)


def test_no_rule_of_the_room_is_left_out_of_the_list() -> None:
    defined = set()
    for module in MODULES:
        for value in vars(module).values():
            items = value if isinstance(value, tuple) else (value,)
            defined |= {item.id for item in items if isinstance(item, Rule)}
    assert defined == {rule.id for rule in ALL_RULES}


def test_each_rule_says_what_holds_in_one_sentence() -> None:
    for rule in ALL_RULES:
        assert rule.says.endswith(".")
        assert len(rule.says) < 140


def test_the_page_has_a_line_a_rule_and_a_part_a_section() -> None:
    page = rules_page()
    assert len(re.findall(r"^\| `", page, re.MULTILINE)) == len(ALL_RULES)
    assert [line.removeprefix("## ") for line in page.splitlines() if line.startswith("## ")] == list(Section)
