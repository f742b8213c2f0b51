"""The training stack's own code, where there is a GPU with that stack on it."""

import pytest

from openrecipes.correctness.component.bench import Device, bench_for
from openrecipes.correctness.component.examination import component_named, component_names, examined
from openrecipes.correctness.component.subject import Degrees, subject_of_model


@pytest.mark.gpu
@pytest.mark.slow
@pytest.mark.parametrize("name", component_names())
def test_the_component_passes_at_the_models_shape_and_every_mistake_is_caught(name):
    component = component_named(name)
    bench, _ = bench_for(component, tier=None, device=Device.CUDA)
    report = examined(component, subject_of_model("Qwen3.5-397B-A17B", Degrees(ep=8)), bench)
    assert [one for one in report.findings.judged if not one.passed] == []
    assert [one.name for one in report.uncaught] == []
    assert report.passed
