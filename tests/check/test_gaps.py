"""A field that cannot be read is one problem: it makes no other, and hides none that does not need it."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

import pytest
import yaml
from good_recipes import DENSE_FILE, FILE, SMOKE_FILE, good, good_dense, good_smoke, text_with

from openrecipes.check.report import check_text

# Flags of every kind: what several fields decide, and what conventions add to them.
RICH: Final[Mapping[str, Any]] = {
    "workload.precision": "fp8",
    "layout.offload": "optimizer",
    "layout.dispatcher": "flex",
    "stack.deepep": "1.2.1",
    "gpu.per_node": 4,
    "layout.recompute": {"granularity": "selective", "method": None, "num_layers": None, "modules": ["core_attn"]},
}


@cache
def recipes() -> Mapping[str, tuple[str, str]]:
    return {
        "published": (good(), FILE),
        "smoke": (good_smoke(), SMOKE_FILE),
        "dense": (good_dense(), DENSE_FILE),
        "rich": (text_with(good(), RICH), FILE),
    }


def keys(data: Mapping[str, Any], before: str = "") -> Iterator[str]:
    """Every dotted key of a recipe, blocks and entries of mappings included."""
    for name, value in data.items():
        yield f"{before}{name}"
        if isinstance(value, dict):
            yield from keys(value, f"{before}{name}.")


def told(text: str, file: str) -> set[tuple[str, str]]:
    return {(problem.rule, problem.place.key) for problem in check_text(text, file)}


def spoilt(text: str, key: str) -> str:
    """The recipe with a value at the key that no field can have."""
    return text_with(text, {key: [[{"a": 1}]]}, derived=())


@pytest.mark.parametrize("name", recipes())
def test_a_value_that_cannot_be_read_is_the_only_problem(name: str) -> None:
    text, file = recipes()[name]
    before = told(text, file)
    found = tuple(keys(yaml.safe_load(text)))
    assert len(found) > 70
    for key in found:
        new = told(spoilt(text, key), file) - before
        assert new, key
        assert all(rule.startswith("schema-") for rule, _ in new), (key, new)


PLANTED: Final = (
    # what is changed, what finds it, and the keys without which nobody can tell
    ("--lr 1e-5", "--lr 1e-4", ("command-flag", "run"), ("arguments", "run", "trainer", "model")),
    ("--seed 3", "--seeed 3", ("argument-unknown", "run"), ("run", "trainer", "stack.framework", "stack.megatron_lm")),
    ("--weight-decay 0.1 ", "", ("command-missing", "run"), ("arguments", "run", "trainer", "model")),
    ("DP16\n", "DP8\n", ("words-label", "layout.label"), ("layout.label", "layout.dp")),
    (
        "max 8,192",
        "max 8,191",
        ("words-max-tokens", "layout.highlights"),
        ("layout.highlights", "layout.max_tokens_per_gpu"),
    ),
    (", DP 16,", ", DP 8,", ("words-degrees", "layout.summary"), ("layout.summary", "layout.dp")),
    (
        "full recompute",
        "no recompute",
        ("words-recompute", "layout.summary"),
        ("layout.summary", "layout.recompute.granularity"),
    ),
)


def test_it_hides_no_mistake_that_does_not_need_it() -> None:
    wrong = good().replace("--lr 1e-5", "--seed 3 --lr 1e-5")
    for old, new, _, _ in PLANTED:
        assert old in wrong, old
        wrong = wrong.replace(old, new, 1)
    assert told(wrong, FILE) >= {expected for _, _, expected, _ in PLANTED}
    for key in keys(yaml.safe_load(wrong)):
        found = told(spoilt(wrong, key), FILE)
        # A block that is gone as a whole takes all that the command needs of it with it.
        of_run = key in ("layout", "gpu", "workload", "result")
        for _, _, expected, needs in PLANTED:
            is_needed = any(key == need or need.startswith(f"{key}.") or key.endswith(f".{need}") for need in needs)
            if not is_needed and not (of_run and expected[0].startswith("command-")):
                assert expected in found, key


def test_the_first_of_two_layout_mistakes_does_not_hide_the_command() -> None:
    text = good().replace("--lr 1e-5", "--lr 1e-4").replace("max_tokens_per_gpu: 8192", "max_tokens_per_gpu: lots")
    assert told(text, FILE) == {("schema-kind", "layout.max_tokens_per_gpu"), ("command-flag", "run")}


def test_an_unreadable_argument_says_nothing_of_its_own_flag_alone() -> None:
    text = text_with(good(), {"arguments.lr": 2.0e-5, "arguments.attention_backend": "fused"}, derived=("run",))
    for key in ("lr", "attention_backend"):
        assert told(spoilt(text, f"arguments.{key}"), FILE) == {("schema-kind", f"arguments.{key}")}
        wrong = text.replace("--weight-decay 0.1", "--weight-decay 0.2")
        assert ("command-flag", "run") in told(spoilt(wrong, f"arguments.{key}"), FILE)
