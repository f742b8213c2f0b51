import sys
import types

import pytest
import torch

from openrecipes.correctness.component.bench import Device, bench_for
from openrecipes.correctness.component.examination import component_named
from openrecipes.correctness.component.frame import Tier
from openrecipes.problems import OutsideError, UsageError

ADAM = component_named("precision-aware-adam")


@pytest.fixture
def gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)


@pytest.fixture
def no_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


def test_without_a_gpu_the_stand_in_on_the_cpu_is_left_and_the_rest_is_named(no_gpu):
    bench, passed_over = bench_for(ADAM, tier=None, device=None)
    assert (bench.tier, bench.device, bench.reduced) == (Tier.TORCH_CPU, "cpu", True)
    assert [(one.tier, one.reason) for one in passed_over] == [
        (Tier.TRANSFORMER_ENGINE, "PyTorch sees no CUDA GPU"),
        (Tier.TORCH_GPU, "PyTorch sees no CUDA GPU"),
    ]


def test_the_training_stacks_code_is_taken_where_it_can_be_imported(gpu, monkeypatch):
    for name in ("transformer_engine", "transformer_engine.pytorch"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    bench, passed_over = bench_for(ADAM, tier=None, device=None)
    assert (bench.tier, bench.device, passed_over) == (Tier.TRANSFORMER_ENGINE, "cuda", ())


def test_a_library_that_breaks_while_it_loads_is_passed_over_with_its_reason(gpu, monkeypatch):
    def broken(name):
        if name.startswith("transformer_engine"):
            raise OSError("undefined symbol: x")
        return torch

    monkeypatch.setattr("openrecipes.correctness.component.bench.importlib.import_module", broken)
    bench, passed_over = bench_for(ADAM, tier=None, device=Device.CUDA)
    assert bench.tier is Tier.TORCH_GPU
    assert passed_over[0].reason == "transformer_engine.pytorch cannot be imported (OSError: undefined symbol: x)"


def test_what_was_asked_for_is_never_replaced_by_less(no_gpu):
    with pytest.raises(OutsideError, match="transformer-engine cannot be tested here: PyTorch sees no CUDA GPU"):
        bench_for(ADAM, tier=Tier.TRANSFORMER_ENGINE, device=None)
    with pytest.raises(OutsideError) as caught:
        bench_for(ADAM, tier=None, device=Device.CUDA)
    assert [problem.place.key for problem in caught.value.problems] == ["device", "device"]
    with pytest.raises(OutsideError) as caught:
        bench_for(ADAM, tier=Tier.TORCH_GPU, device=Device.CUDA)
    assert [problem.place.key for problem in caught.value.problems] == ["tier"]


def test_a_tier_that_the_component_has_not_and_a_device_that_the_tier_has_not_are_usage_errors():
    with pytest.raises(UsageError, match="use one of transformer-engine, torch-gpu, torch-cpu"):
        bench_for(ADAM, tier=Tier.FLASH_LINEAR_ATTENTION, device=None)
    with pytest.raises(UsageError, match="cuda, but tier torch-cpu runs on cpu"):
        bench_for(ADAM, tier=Tier.TORCH_CPU, device=Device.CUDA)
