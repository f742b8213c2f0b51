"""The adapters of GPU libraries, through the whole component test, on stand-ins with the libraries' signatures."""

import sys

import pytest
from stack_fakes import modules

from openrecipes.correctness.component import gated_delta_net, moe_permute_fusion, rms_norm, router
from openrecipes.correctness.component.frame import Bench, Tier
from openrecipes.correctness.component.mistake import controls_of
from openrecipes.correctness.component.subject import Degrees, subject_of_model

SUBJECT = subject_of_model("Qwen3.5-397B-A17B", Degrees())
BENCH = Bench(tier=Tier.TORCH_CPU, device="cpu")
ADAPTERS = ("te_functions", "fla_functions")


@pytest.fixture(autouse=True)
def _libraries(monkeypatch):
    for name, module in modules().items():
        monkeypatch.setitem(sys.modules, name, module)
    names = [f"openrecipes.correctness.component.{adapter}" for adapter in ADAPTERS]
    for name in names:
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield
    for name in names:
        sys.modules.pop(name, None)


def cases(module):
    if module is rms_norm:
        return tuple(rms_norm._cases(SUBJECT, BENCH))
    return (module._case(SUBJECT, BENCH),)


def check(module, tier: Tier, judge, mistakes, case) -> None:
    run = module._implementation(tier)
    assert [one for one in judge(case, run(case)) if not one.passed] == []
    assert [one.name for one in controls_of(mistakes, case, run, judge) if not one.caught] == []


def test_the_fused_norm():
    for case in cases(rms_norm):
        check(rms_norm, Tier.TRANSFORMER_ENGINE, rms_norm.judge, rms_norm.mistakes(case), case)


def test_the_fused_permute():
    (case,) = cases(moe_permute_fusion)
    check(moe_permute_fusion, Tier.TRANSFORMER_ENGINE, moe_permute_fusion.judge, moe_permute_fusion.mistakes(), case)


def test_the_fused_router():
    (case,) = cases(router)
    check(router, Tier.TRANSFORMER_ENGINE, router.judge, router.mistakes(), case)


def test_the_delta_rules_kernel_is_held_against_the_floor_of_bf16_products():
    case = gated_delta_net._case(gated_delta_net._sizes(SUBJECT), BENCH)
    judge = gated_delta_net._Judge(case, kernel=True)
    check(gated_delta_net, Tier.FLASH_LINEAR_ATTENTION, judge, gated_delta_net.mistakes(), case)
    whole = [one for one in judge(case, gated_delta_net.in_bf16_chunks(case)) if "worst" not in one.check]
    assert all(one.floor == one.error < one.bound <= 0.05 for one in whole)
