"""A correctness block grows part by part, and says what its parts say."""

import datetime
from typing import Any

from openrecipes.recipe.correctness import ComponentTest, ConfigurationEvidence, Convergence, Correctness
from openrecipes.write_back.correctness_parts import with_component_test, with_configuration, with_convergence

CURVES: dict[str, Any] = {
    "steps": 20,
    "result": "pass",
    "correlation": 0.99999,
    "final_loss_difference": 8.4e-05,
    "pointwise_failures": 0,
    "rule": "megatron-bridge/pipeline",
}
EVIDENCE = ConfigurationEvidence(
    reference="a/b/c",
    reference_sha256="1" * 64,
    candidate_sha256="2" * 64,
    classes="argument-classes/1",
    tolerated=(),
    components=(),
)


def curves(**values: Any) -> Convergence:
    return Convergence.model_validate(CURVES | values)


def component(**values: Any) -> ComponentTest:
    shown = {
        "test": "router on GPU",
        "shape": "512 experts",
        "gpu": "H200",
        "date": datetime.date(2026, 11, 30),
        "result": "pass",
        "detail": "error 1e-7",
        "component": "router",
        "tier": "megatron-core",
    }
    return ComponentTest.model_validate(shown | values)


def test_each_part_is_added_to_the_others() -> None:
    block = with_convergence(None, curves(), "reference.log")
    assert (block.result, block.reference, block.summary) == (
        "pass",
        "reference.log",
        "passed: convergence over 20 steps",
    )
    block = with_configuration(block, "pass", EVIDENCE)
    assert block.reference == "a/b/c"
    block = with_component_test(block, component())
    assert block.summary == "passed: configuration, convergence over 20 steps, component test router"
    assert block.rules == "argument classes argument-classes/1; loss curves by megatron-bridge/pipeline and strict/1"
    assert with_convergence(block, curves(steps=14), "other.log").reference == "a/b/c"


def test_one_failed_part_fails_the_whole_and_is_named() -> None:
    block = with_configuration(with_convergence(None, curves(), "r"), "fail", EVIDENCE)
    assert (block.result, block.summary) == ("fail", "failed: configuration")
    assert with_configuration(block, "pass", EVIDENCE).result == "pass"


def test_a_test_takes_the_place_of_the_same_component_and_of_no_other() -> None:
    block = with_component_test(None, component())
    block = with_component_test(block, component(component="rms-norm", test="rms norm on GPU"))
    block = with_component_test(block, component(result="fail"))
    assert [(test.component, test.result) for test in block.component_tests] == [
        ("rms-norm", "pass"),
        ("router", "fail"),
    ]
    assert block.result == "fail"


def test_an_entry_without_a_name_goes_by_its_words() -> None:
    old = component(component=None, tier=None)
    block = with_component_test(with_component_test(None, old), component(component="router"))
    assert len(block.component_tests) == 1


def test_keys_that_were_never_set_stay_away() -> None:
    block = with_convergence(None, curves(), "r")
    assert "frozen_log_sha256" not in block.model_dump(exclude_unset=True)["convergence"]
    assert Correctness.model_validate(block.model_dump(exclude_unset=True)) == block
