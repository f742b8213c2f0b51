"""FLOPs exact for the architecture, against counts made by hand and by walking through the tokens."""

from math import prod
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openrecipes.catalog.models import Model, all_models, model
from openrecipes.figures.flops import token_flops, utilisation
from openrecipes.figures.mfu import mfu

QWEN = model("Qwen3.5-397B-A17B")
segments = st.lists(st.integers(1, 3000), min_size=1, max_size=6)


def test_the_documented_example_is_what_the_code_gives() -> None:
    flops = token_flops(QWEN, [8192])
    assert flops.weights == 6 * 16_331_407_360
    assert flops.attention == 3 * 15 * 32 * 2 * 512 * 4096.5
    assert flops.linear_attention == 3 * 45 * 64 * 7 * 128 * 128
    page = (Path(__file__).parents[2] / "docs" / "mfu.md").read_text(encoding="utf-8")
    for value in (flops.weights, flops.attention, flops.linear_attention, flops.total):
        assert f"| {value / 1e9:.2f} |" in page
    assert f"{100 * (flops.total / flops.weights - 1):.1f} % above" in page


def walked(shape_of: Model, lengths: list[int]) -> float:
    """Attention FLOPs of the rows, one query and one key at a time, over their tokens."""
    shape = shape_of.shape
    total = 0
    for layer in shape.layers:
        if layer.mixer == "full_attention":
            for length in lengths:
                for query in range(length):
                    total += shape.num_attention_heads * (query + 1) * 2 * 2 * shape.head_dim
    return 3 * total / sum(lengths)


@given(st.lists(st.integers(1, 40), min_size=1, max_size=4))
def test_attention_is_what_a_walk_through_the_tokens_counts(lengths: list[int]) -> None:
    mini = model("Qwen3.5-MoE-mini")
    assert token_flops(mini, lengths).attention == pytest.approx(walked(mini, lengths))


@given(segments)
def test_cutting_a_row_into_segments_never_takes_more(lengths: list[int]) -> None:
    whole, cut = token_flops(QWEN, [sum(lengths)]), token_flops(QWEN, lengths)
    assert cut.attention <= whole.attention
    assert (cut.weights, cut.linear_attention) == (whole.weights, whole.linear_attention)


@given(segments)
def test_the_order_of_segments_and_repeating_a_row_change_nothing(lengths: list[int]) -> None:
    assert token_flops(QWEN, lengths) == token_flops(QWEN, lengths[::-1])
    assert token_flops(QWEN, lengths * 3).total == pytest.approx(token_flops(QWEN, lengths).total)


@pytest.mark.parametrize("name", [entry.name for entry in all_models()])
def test_weights_are_the_sum_over_the_tensors_that_a_token_uses(name: str) -> None:
    entry = model(name)
    used = sum(prod(t.shape) * t.used_copies * (len(t.layers) or 1) for t in entry.tensors)
    assert token_flops(entry, [1]).weights == 6 * used


def test_utilisation_by_6n_is_the_published_formula() -> None:
    assert utilisation(545.32, 6 * 16_331_407_360, 989e12) == pytest.approx(mfu(545.32, 16_331_407_360, 989e12))


@pytest.mark.parametrize("lengths", [[], [0], [5, -1]])
def test_segments_must_be_positive(lengths: list[int]) -> None:
    with pytest.raises(ValueError, match="segments"):
        token_flops(QWEN, lengths)


@pytest.mark.parametrize("values", [(0, 1, 1), (1, -1, 1), (1, 1, 0)])
def test_utilisation_needs_positive_values(values: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match="positive"):
        utilisation(*values)
