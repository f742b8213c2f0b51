import json
import subprocess
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from smoke_recipe import smoke_recipe

from openrecipes.catalog.models import hf_config, model
from openrecipes.problems import errors_in
from openrecipes.recipe.read import read_recipe
from openrecipes.render.command import command
from openrecipes.shipped import shipped
from openrecipes.stack import capture
from openrecipes.targets.local import LocalTarget
from openrecipes.targets.profile import THIS_MACHINE
from openrecipes.targets.target import Launch

PUBLISHED_NVLS = '$([ "$NVLINK_COUNT" -gt 0 ] && echo 1 || echo 0)'
NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,12}", fullmatch=True)
VALUES = st.text(st.characters(codec="utf-8", exclude_characters="\0", exclude_categories=("Cs",)), max_size=40)


def launch(**changes: object) -> Launch:
    recipe = smoke_recipe(**changes)
    found = model(recipe.model)
    return Launch(recipe=recipe, model=found, command=command(recipe, found), profile=THIS_MACHINE)


def script(**changes: object) -> str:
    rendered = LocalTarget().render(launch(**changes))
    return next(file.text for file in rendered.files if file.path == "node.sh")


def rules(**changes: object) -> list[str]:
    return [problem.rule for problem in errors_in(LocalTarget().refusals(launch(**changes)))]


def test_equal_launches_render_to_equal_bytes():
    one, two = LocalTarget().render(launch()), LocalTarget().render(launch())
    assert one == two
    assert one.render_sha256 == two.render_sha256


def test_another_value_anywhere_is_another_hash():
    hashes = {
        LocalTarget().render(launch(**changes)).render_sha256
        for changes in ({}, {"env": {"A": "1"}}, {"env": {"A": "2"}}, {"arguments": {"lr": 0.1}})
    }
    assert len(hashes) == 4


def test_a_launch_carries_the_trainer_the_capture_and_the_models_shape():
    files = {file.path: file.text for file in LocalTarget().render(launch()).files}
    signs = ["signs/fatal.pcre", "signs/raised.pcre", "signs/stems.txt"]
    scripts = ["capture_environment.py", "launch.sh", "model/config.json", "node.sh"]
    assert sorted(files) == [*scripts, *signs, "smoke_sft.py"]
    assert files["smoke_sft.py"] == shipped("launch", "smoke_sft.py").read_text()
    assert files["capture_environment.py"] == capture.source_text()
    assert json.loads(files["model/config.json"]) == hf_config(model("Qwen3.5-MoE-mini"))


@settings(deadline=None, max_examples=40)
@given(st.dictionaries(NAMES, VALUES.filter(lambda value: "$(" not in value), max_size=4))
def test_any_environment_renders_to_sound_shell(env):
    plain = launch()
    recipe = plain.recipe.model_copy(update={"env": env})
    rendered = LocalTarget().render(replace(plain, recipe=recipe, command=command(recipe, plain.model)))
    scripts = [file.content for file in rendered.files if file.path.endswith(".sh")]
    assert len(scripts) == 2
    for script in scripts:
        checked = subprocess.run(["bash", "-n"], input=script, capture_output=True, check=False)
        assert (checked.returncode, checked.stderr) == (0, b"")


@pytest.mark.tool("shellcheck")
def test_shellcheck_finds_nothing():
    env = {"LITERAL": "a 'b' $c\n`d`", "NCCL_NVLS_ENABLE": PUBLISHED_NVLS, "N": "1"}
    for changes in ({}, {"env": env}, {"arguments": {"lr": 2e-5}}):
        text = script(**changes).encode()
        ran = subprocess.run(["shellcheck", "-s", "bash", "-"], input=text, capture_output=True, check=False)
        assert ran.stdout.decode() == ""


def test_nvlink_count_is_defined_before_its_use_and_only_where_it_is_used():
    text = script(env={"NCCL_NVLS_ENABLE": PUBLISHED_NVLS})
    assert text.index("NVLINK_COUNT=$(nvidia-smi topo -m") < text.index('"$NVLINK_COUNT" -gt 0')
    assert "NVLINK_COUNT" not in script(env={"A": "1"})


def test_the_published_expression_is_known_and_no_other_command_is_allowed_in():
    assert rules(env={"NCCL_NVLS_ENABLE": PUBLISHED_NVLS}) == []
    for value in ("$(id)", f"{PUBLISHED_NVLS} ", '$([ "$NVLINK_COUNT" -gt 0 ] && echo 1 || rm -rf x)'):
        assert rules(env={"A": value}) == ["env-shell-allowed"]


def test_a_recipe_of_several_nodes_is_refused():
    recipe = read_recipe(shipped("recipes", "qwen3.5-397b-a17b", "h200", "attune-tp2-pp4-ep32.yaml")).recipe
    found = model(recipe.model)
    published = Launch(recipe=recipe, model=found, command=command(recipe, found), profile=THIS_MACHINE)
    problems = {problem.rule: problem for problem in LocalTarget().refusals(published)}
    assert problems["target-nodes"].what == "128 x H200, 8 per node, are 16 nodes; a local run has one"
    assert problems["target-nodes"].place.key == "gpu.count"


def test_arguments_lie_in_the_script_as_separate_words():
    text = script(arguments={"seed": 7})
    assert "  --seed 7\n" in text
    assert '  --hf-checkpoint "$HF_CKPT"\n' in text
    assert 'HF_CKPT="$here/model"\n' in text
