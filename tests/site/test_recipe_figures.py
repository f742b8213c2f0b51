"""Figures in words, as the published page says them, and what each was derived from."""

import datetime

import pytest
from varied_recipes import changed, published, smoke

from openrecipes.recipe.correctness import ComponentTest, ConfigurationEvidence, Convergence
from openrecipes.site import recipe_figures as figures

HASH = "ab" * 32


def texts(figure: figures.Figure) -> list[str]:
    return [source.text for source in figure.sources]


@pytest.mark.parametrize(
    ("layout", "mfu", "cv", "hours"),
    [
        ("tp2-pp4-ep32", "5.4%", "1.14%", "68.9"),
        ("tp1-pp4-ep32", "5.0%", "0.77%", "38.04"),
        ("tp2-pp2-ep64", "4.7%", "1.17%", "31.25"),
    ],
)
def test_published_figures_read_as_published(layout: str, mfu: str, cv: str, hours: str) -> None:
    recipe = published(layout)
    assert figures.mfu(recipe).value == f"{mfu} (N = 16,331,407,360 active parameters per token)"
    assert figures.spread(recipe).value == cv
    assert figures.gpu_hours(recipe).value == hours


def test_throughput_names_rule_window_timer_and_hashes() -> None:
    known = changed(published(), {"result.log_sha256": HASH, "result.render_sha256": HASH})
    assert texts(figures.throughput(known)) == [
        "rule skip-quarter/1",
        "steps 4–13 of 14, 10,485,760 tokens",
        "timer step_time",
        f"log {HASH[:12]}",
        f"launched files {HASH[:12]}",
    ]
    assert texts(figures.throughput(published()))[-2:] == ["log: no hash", "launched files: no hash"]


def test_price_names_its_row_of_the_catalogue() -> None:
    found = figures.price(published())
    assert texts(found)[1] == "$63.296 an hour for 8 GPUs (aws-on-demand-us-east-1-2026-09/p5en.48xlarge)"
    elsewhere = changed(published(), {"gpu.instance": "Own cluster"})
    assert texts(figures.price(elsewhere)) == ["tokens/s per GPU"]


def test_what_was_not_measured_says_so_and_is_derived_from_nothing() -> None:
    for figure in (figures.price(smoke()), figures.mfu(changed(published(), {"result.mfu": None}))):
        assert figure.value == "not measured"
        assert figure.short == "–"
        assert figure.sources == ()


def test_checks_that_failed_say_so() -> None:
    test = ComponentTest(
        test="Adam", shape="small", gpu="H200", date=datetime.date(2026, 10, 11), result="fail", detail="worst 1e-2"
    )
    assert figures.component_test(test) == "failed: Adam: H200, 2026-10-11. Shape: small. worst 1e-2"
    failed = Convergence(
        steps=20,
        result="fail",
        correlation=0.5,
        final_loss_difference=None,
        pointwise_failures=1_000,
        note="candidate arm: the run",
        rule="megatron-bridge/pipeline",
        candidate_log_sha256=HASH,
    )
    found = figures.convergence(failed)
    assert found.value == "failed: correlation 0.5, 1,000 pointwise failures over 20 steps. Candidate arm: the run"
    assert texts(found) == ["rule megatron-bridge/pipeline", f"candidate log {HASH[:12]}"]
    assert figures.convergence(None).value == "none"


def test_a_configuration_check_names_what_it_compared() -> None:
    correctness = published().correctness
    assert correctness is not None
    assert figures.configuration(correctness).sources == ()
    evidence = ConfigurationEvidence(
        reference="m/g/r",
        reference_sha256=HASH,
        candidate_sha256=HASH,
        classes="numerics/1",
        tolerated=(),
        components=(),
    )
    known = correctness.model_copy(update={"configuration_evidence": evidence})
    assert texts(figures.configuration(known)) == [
        "classes numerics/1",
        f"reference m/g/r, {HASH[:12]}",
        f"candidate {HASH[:12]}",
    ]
