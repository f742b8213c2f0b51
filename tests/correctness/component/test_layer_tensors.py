import pytest

from openrecipes.correctness.component.layer_tensors import elements_of, layer_kinds, layer_tensors
from openrecipes.correctness.component.subject import Degrees, subject_of_model, subject_of_recipe
from openrecipes.problems import ProblemsError, UsageError
from openrecipes.recipe.read import read_recipe
from openrecipes.shipped import shipped

MODEL = "Qwen3.5-397B-A17B"


def of(model: str = MODEL, *, reduced: bool = False, **degrees: int):
    return layer_tensors(subject_of_model(model, Degrees(**degrees)), reduced=reduced)


def part(tensors, *prefixes: str) -> int:
    return elements_of(tuple(tensor for tensor in tensors if tensor.name.startswith(prefixes)))


def test_both_kinds_of_layer_have_the_published_elements_at_ep_8():
    tensors = of(ep=8)
    moe = part(tensors, "mlp.", "post_attention_layernorm")
    linear = part(tensors, "linear_attn.", "input_layernorm")
    full = part(tensors, "self_attn.", "input_layernorm")
    assert moe == 819_994_624
    assert moe + linear == 938_012_928
    assert moe + full == 924_856_832
    assert elements_of(tensors) == moe + linear + full - 4096  # the norm before either mixer is taken once


def test_each_expert_is_a_tensor_of_its_own():
    experts = [tensor for tensor in of(ep=8) if ".experts." in tensor.name]
    assert [(tensor.shape, tensor.copies) for tensor in experts] == [((2048, 4096), 64), ((4096, 1024), 64)]
    assert part(of(ep=32), "mlp.experts.") == 201_326_592


def test_expert_tensor_parallelism_cuts_rows_of_the_first_and_columns_of_the_second_projection():
    experts = [tensor.shape for tensor in of(ep=8, etp=2) if ".experts." in tensor.name]
    assert experts == [(1024, 4096), (4096, 512)]


def test_only_vectors_are_spared_weight_decay():
    assert {tensor.decayed for tensor in of() if len(tensor.shape) == 1} == {False}
    assert {tensor.decayed for tensor in of() if len(tensor.shape) > 1} == {True}


def test_norm_gains_start_where_the_model_has_them():
    starts = {tensor.name: tensor.start for tensor in of()}
    assert starts["input_layernorm"] == starts["self_attn.q_norm"] == "zeros"  # x / rms(x) * (1 + p)
    assert starts["linear_attn.norm"] == starts["linear_attn.dt_bias"] == "ones"
    assert starts["linear_attn.A_log"] == "log uniform"
    assert {t.start for t in of("Qwen3-30B-A3B") if "norm" in t.name} == {"ones"}


def test_reduced_shapes_keep_every_tensor_and_stay_small():
    full, reduced = of(), of(reduced=True)
    assert [tensor.name for tensor in full] == [tensor.name for tensor in reduced]
    assert elements_of(reduced) < 200_000


def test_a_dense_model_has_one_kind_of_layer():
    subject = subject_of_model("Qwen3-32B", Degrees())
    assert [kind.mlp for kind in layer_kinds(subject)] == ["dense"]
    assert part(of("Qwen3-32B"), "mlp.") > 0


def test_the_published_values_are_those_of_the_entries():
    adam = subject_of_model(MODEL, Degrees()).adam
    assert (adam.lr, adam.beta1, adam.beta2, adam.eps, adam.weight_decay) == (1e-5, 0.9, 0.98, 1e-8, 0.1)


def test_a_recipe_gives_degrees_tokens_and_optimizer_values():
    recipe = read_recipe(shipped("recipes") / "qwen3.5-397b-a17b/h200/attune-tp2-pp4-ep32.yaml").recipe
    subject = subject_of_recipe(recipe, Degrees())
    assert (subject.tp, subject.ep, subject.etp, subject.tokens) == (2, 32, 1, 4096)
    assert subject.adam.lr == 1e-5
    assert subject_of_recipe(recipe, Degrees(ep=8)).local_experts == 64


def test_degrees_that_do_not_divide_are_all_named():
    with pytest.raises(ProblemsError) as caught:
        subject_of_model(MODEL, Degrees(ep=7, etp=3))
    assert [problem.rule for problem in caught.value.problems] == ["component-ep", "component-etp"]
    assert "7 does not divide the 512 experts" in caught.value.problems[0].what


def test_an_unknown_model_names_the_nearest():
    with pytest.raises(UsageError, match=r"Qwen3\.5-397B-A17B"):
        subject_of_model("Qwen3.5-397B", Degrees())
