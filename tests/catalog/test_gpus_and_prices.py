import pytest
from pydantic import ValidationError

from openrecipes.catalog.data_files import validate
from openrecipes.catalog.gpus import Gpu, all_gpus, find_gpu, find_instance, gpu, unknown_gpu
from openrecipes.catalog.headlines import all_headlines, headlines_of
from openrecipes.catalog.models import model
from openrecipes.catalog.prices import all_prices, default_price, price
from openrecipes.problems import UsageError


def test_the_catalogue_holds_the_three_gpus_and_the_cpu() -> None:
    assert [entry.name for entry in all_gpus()] == ["H100", "H200", "B200", "CPU"]


@pytest.mark.parametrize(
    ("name", "memory_gb", "usable_gib", "peak"),
    [("H100", 80, 79.6, 989e12), ("H200", 141, 140.4, 989e12), ("B200", 180, 179.1, 2250e12)],
)
def test_memory_and_peak_are_the_stated_ones(name: str, memory_gb: int, usable_gib: float, peak: float) -> None:
    entry = gpu(name)
    assert entry.memory_gb is not None
    assert entry.memory_gb.value == memory_gb
    assert entry.usable_memory_gib == pytest.approx(usable_gib, abs=0.05)
    assert entry.peak_flops_per_s is not None
    assert entry.peak_flops_per_s.value == peak


def test_the_hopper_peak_follows_from_its_tensor_cores() -> None:
    peak = gpu("H200").peak_flops_per_s
    assert peak is not None
    assert pytest.approx(peak.value, rel=1e-3) == 528 * 512 * 2 * 1.83e9


def test_a_cpu_has_no_peak_memory_or_price() -> None:
    entry = gpu("CPU")
    assert (entry.kind, entry.peak_flops_per_s, entry.usable_memory_gib, entry.instances) == ("cpu", None, None, ())


def test_every_price_is_of_a_known_instance_with_as_many_gpus_or_names_its_gpu() -> None:
    for entry in all_prices():
        found = find_instance(entry.instance)
        if entry.gpu is None:
            assert found is not None, entry.instance
            assert found[1].gpus.value == entry.gpus_per_instance
        else:
            assert found is None, entry.instance
            assert gpu(entry.gpu).kind == "gpu"
        assert price(entry.id) is entry
    assert len(all_prices()) == len({entry.id for entry in all_prices()}) == 11


def test_prices_are_of_several_bases_regions_and_clouds() -> None:
    assert {"on-demand", "spot", "capacity-block"} <= {entry.basis for entry in all_prices()}
    assert len({entry.region for entry in all_prices()}) > 4
    assert len({entry.instance.split(" ")[0] for entry in all_prices()}) > 1


def test_the_default_price_is_the_one_published_figures_use() -> None:
    found = default_price("AWS p5en.48xlarge")
    assert found is not None
    assert found.id == "aws-on-demand-us-east-1-2026-09/p5en.48xlarge"
    assert (found.usd_per_instance_hour, found.usd_per_gpu_hour) == (63.296, 7.912)
    assert default_price("AWS p5e.48xlarge") is None


def test_every_headline_is_of_a_known_model_and_gpu() -> None:
    assert len(all_headlines()) == 3
    for headline in all_headlines():
        assert find_gpu(headline.gpu) is not None
        assert model(headline.model).name == headline.model
    assert headlines_of("Qwen3-32B") == ()


def test_unknown_names_name_the_nearest_price_and_all_gpus() -> None:
    for name in ("H2000", "TPUv7"):
        with pytest.raises(UsageError, match="write one of H100, H200, B200, CPU"):
            gpu(name)
    with pytest.raises(UsageError, match="us-east-1-2026-09/p5en"):
        price("aws-on-demand-us-east-1-2026-10/p5en.48xlarge")
    assert find_gpu("H2000") is None
    assert find_instance("AWS p9.48xlarge") is None


def test_a_fact_without_a_source_is_refused() -> None:
    good = gpu("H200").model_dump(mode="json")
    assert validate(good, Gpu) == gpu("H200")
    for change in ({"memory_gb": {"value": 141, "retrieved": "2026-01-01"}}, {"memory_gb": 141}, {"colour": "green"}):
        with pytest.raises(ValidationError):
            validate({**good, **change}, Gpu)


@pytest.mark.parametrize("name", ["h200", "H200", "b200", "cpu", "Cpu"])
def test_a_gpu_is_found_in_upper_and_lower_case(name: str) -> None:
    assert gpu(name).name == name.upper()


@pytest.mark.parametrize(
    ("name", "mend"),
    [
        ("NVIDIA-H200-SXM", "write H200"),
        ("nvidia h100 80gb hbm3", "write H100"),
        ("H-200", "write H200"),
        ("h200", "write H200"),
        ("A100", "write one of H100, H200, B200, CPU;"),
        ("H20", "write one of"),
        ("H2000", "write one of"),
        ("GB200", "write one of"),
        ("H100 or H200", "write one of"),
    ],
)
def test_another_gpu_is_no_slip_of_a_known_one(name: str, mend: str) -> None:
    what, said = unknown_gpu(name)
    assert what == f"{name} is not in the catalogue of GPUs"
    assert said.startswith(mend)
