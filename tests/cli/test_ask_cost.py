import pytest
import typer

from openrecipes.cli import ask_cost as asking
from openrecipes.cli.ask_cost import ask_cost, cost_in_words
from openrecipes.problems import ProblemsError
from openrecipes.recipe.read import read_recipe
from openrecipes.render.overrides import overridden
from openrecipes.shipped import shipped
from openrecipes.targets.profile import THIS_MACHINE


def recipe(*names):
    return read_recipe(shipped("recipes", *names))


@pytest.fixture
def published():
    return recipe("qwen3.5-397b-a17b", "h200", "attune-tp2-pp4-ep32.yaml")


@pytest.fixture
def draft():
    return recipe("qwen3.5-397b-a17b", "h100", "openrecipes-tp2-pp4-ep32.yaml")


def ask(located, *settings, agreed=False, **profile):
    launched = overridden(located.recipe, settings).recipe
    ask_cost(located, launched, THIS_MACHINE.model_copy(update=profile), agreed=agreed)


def test_a_costly_recipe_needs_yes_where_nobody_can_be_asked(published):
    with pytest.raises(ProblemsError) as caught:
        ask(published)
    (problem,) = caught.value.problems
    assert problem.what.startswith("its own run says 68.9 GPU-hours, $545 at $7.91 a GPU-hour")
    assert problem.what.endswith("above $50 somebody must agree")
    assert problem.place.key == "result.gpu_hours"
    ask(published, agreed=True)


def test_fewer_steps_cost_less_and_the_profile_says_what_is_too_much(published):
    launched = overridden(published.recipe, ["result.steps_per_run=7"]).recipe
    usd, words = cost_in_words(published.recipe, launched, THIS_MACHINE)
    assert usd == pytest.approx(68.9 / 2 * 7.912, rel=0.01)
    assert words.startswith("its own run says 34.5 GPU-hours, $273 ")
    ask(published, "result.steps_per_run=7", ask_above_usd=300)
    with pytest.raises(ProblemsError):
        ask(published, "result.steps_per_run=7", ask_above_usd=200)


def test_a_recipe_that_nobody_measured_is_asked_about_by_its_time_limit_or_by_the_hour(draft):
    with pytest.raises(ProblemsError, match=r"128 GPUs, \$881 an hour at \$6.88 .* and nothing says how many"):
        ask(draft)
    with pytest.raises(ProblemsError, match=r"128 GPUs for up to its time limit of 2 h 00 min, \$1,761 at "):
        ask(draft, time_limit_seconds=7200)


def test_figures_of_so_many_gpus_say_nothing_of_another_number(published):
    settings = ["gpu.count=64", "layout.ep=16", "workload.global_batch=64"]
    launched = overridden(published.recipe, settings).recipe
    assert cost_in_words(published.recipe, launched, THIS_MACHINE)[1].startswith("64 GPUs, $506 an hour ")
    ported = overridden(published.recipe, ["gpu.type=H100"]).recipe
    assert cost_in_words(published.recipe, ported, THIS_MACHINE)[1].startswith("128 GPUs, $881 an hour ")


def test_on_a_terminal_the_caller_is_asked(published, monkeypatch):
    monkeypatch.setattr(asking.output, "is_terminal", lambda: True)
    answers = {"Run it?": False}

    def confirm(text, *, abort, err):
        assert abort
        assert err
        if not answers[text[-7:]]:
            raise typer.Abort

    monkeypatch.setattr(asking.typer, "confirm", confirm)
    with pytest.raises(typer.Abort):
        ask(published)
    answers["Run it?"] = True
    ask(published)


def test_a_recipe_without_price_is_not_asked_about():
    ask(recipe("qwen3.5-moe-mini", "cpu", "smoke-dp2.yaml"))
