"""What holds for every component: sound code passes, every mistake is caught, every check can fail."""

import importlib
import typing
from dataclasses import fields, is_dataclass, replace
from functools import cache
from pathlib import Path

import pytest
import torch

from openrecipes.correctness.component.examination import component_named, component_names, examined
from openrecipes.correctness.component.frame import Bench, Report, Tier
from openrecipes.correctness.component.subject import Degrees, subject_of_model
from openrecipes.problems import ProblemsError, UsageError

BENCH = Bench(tier=Tier.TORCH_CPU, device="cpu")
NAMES = component_names()


@cache
def report(name: str, model: str = "Qwen3.5-397B-A17B") -> Report:
    return examined(component_named(name), subject_of_model(model, Degrees()), BENCH, now=lambda: 1_796_000_000.0)


@pytest.mark.parametrize("name", NAMES)
def test_sound_code_passes_and_every_mistake_is_caught(name):
    found = report(name)
    assert [one for one in found.findings.judged if not one.passed] == []
    assert [one.name for one in found.uncaught] == []
    assert found.passed
    assert len(found.findings.controls) >= 8
    assert len({one.name for one in found.findings.controls}) == len(found.findings.controls)


@pytest.mark.parametrize("name", NAMES)
def test_every_check_is_one_that_some_control_fails(name):
    # Vectors are judged by the very lines that matrices are; controls spoil a matrix.
    checks = {one.check for one in report(name).findings.judged} - {"update of vectors"}
    assert checks <= {check for one in report(name).findings.controls for check in one.caught_by}


@pytest.mark.parametrize("name", NAMES)
def test_a_run_on_the_cpu_says_that_it_is_no_evidence(name):
    found = report(name)
    assert (found.evidence, found.tier) == (False, Tier.TORCH_CPU)
    assert found.findings.shape.startswith("reduced from ")
    assert found.circumstances.gpu == "none (CPU)"
    assert str(found.circumstances.date) == "2026-11-30"
    assert {"python", "torch"} <= set(found.circumstances.versions)


@pytest.mark.parametrize("name", NAMES)
def test_two_runs_find_the_same(name):
    again = component_named(name).examine(subject_of_model("Qwen3.5-397B-A17B", Degrees()), BENCH)
    assert again == report(name).findings


@pytest.mark.parametrize("name", NAMES)
def test_the_training_stack_comes_first_and_both_stand_ins_exist(name):
    tiers = list(component_named(name).implementations)
    assert not tiers[0].is_stand_in
    assert tiers[-2:] == [Tier.TORCH_GPU, Tier.TORCH_CPU]


@pytest.mark.parametrize("name", ["precision-aware-adam", "rms-norm", "cross-entropy"])
def test_a_dense_model_has_these_components(name):
    assert report(name, "Qwen3-32B").passed


@pytest.mark.parametrize("name", ["moe-permute-fusion", "router", "gated-delta-net"])
def test_a_dense_model_with_full_attention_lacks_these(name):
    with pytest.raises(ProblemsError, match="Qwen3-32B"):
        report(name, "Qwen3-32B")


def test_norms_around_one_are_tested_as_such():
    assert "x / rms(x) * p" in report("rms-norm", "Qwen3-30B-A3B").findings.shape
    assert report("rms-norm", "Qwen3-30B-A3B").passed


def test_one_rank_has_no_slices_to_mix_up():
    found = examined(component_named("cross-entropy"), subject_of_model("Qwen3-32B", Degrees(tp=1)), BENCH)
    assert found.passed
    assert {"own maximum", "own sum", "lost slice"}.isdisjoint(one.name for one in found.findings.controls)


def test_an_unknown_component_names_the_nearest():
    with pytest.raises(UsageError, match="use precision-aware-adam"):
        component_named("precision-aware-adams")
    with pytest.raises(UsageError, match="moe-permute-fusion, router"):
        component_named("x")


# A candidate that is right but for one thing, found by going through every tensor that each implementation returns.
STAND_INS = {
    "rms-norm": ("rms_norm", "in_fp32"),
    "moe-permute-fusion": ("moe_permute_fusion", "in_pytorch"),
    "router": ("router", "in_fp32"),
    "cross-entropy": ("cross_entropy", "in_fp32"),
    "gated-delta-net": ("gated_delta_net", "in_chunks"),
}


@pytest.mark.parametrize("name", STAND_INS)
@pytest.mark.parametrize("spoil", ["one element", "NaN"])
def test_one_wrong_element_of_any_result_fails(name, spoil, monkeypatch):
    module = importlib.import_module(f"openrecipes.correctness.component.{STAND_INS[name][0]}")
    sound = getattr(module, STAND_INS[name][1])
    field_names = _result_fields(sound)
    assert len(field_names) >= 2
    for field in field_names:
        monkeypatch.setattr(module, "_implementation", lambda _tier, field=field: _spoilt(sound, field, spoil))
        monkeypatch.setattr(module, "mistakes", lambda *_case: ())
        found = component_named(name).examine(subject_of_model("Qwen3.5-397B-A17B", Degrees()), BENCH)
        assert not all(one.passed for one in found.judged), field


def _result_fields(sound) -> list[str]:
    result = typing.get_type_hints(sound)["return"]
    assert is_dataclass(result)
    return [field.name for field in fields(result)]


def _spoilt(sound, field: str, spoil: str):
    def run(case):
        found = sound(case)
        tensor = getattr(found, field).clone()
        flat = tensor.view(-1)
        place = int(flat.float().abs().argmax())
        if tensor.dtype is torch.bool:
            flat[place] = ~flat[place]
        else:
            flat[place] = float("nan") if spoil == "NaN" else flat[place] * 1.5 + 1e-3
        return replace(found, **{field: tensor})

    return run


@pytest.mark.parametrize("name", NAMES)
def test_the_documentation_names_every_tier_and_control(name):
    text = (Path(__file__).resolve().parents[3] / "docs" / "correctness-components.md").read_text(encoding="utf-8")
    section = text.split(f"\n## {name}\n")[1].split("\n## ")[0]
    assert [one.name for one in report(name).findings.controls if f"`{one.name}`" not in section] == []
    stack = [tier for tier in component_named(name).implementations if not tier.is_stand_in]
    (row,) = [line for line in text.splitlines() if line.startswith(f"| `{name}` |")]
    assert all(f"`{tier}`" in row for tier in stack)
