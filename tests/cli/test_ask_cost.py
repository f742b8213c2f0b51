import pytest
import typer

from openrecipes.cli import ask_cost as asking
from openrecipes.cli.ask_cost import ask_cost
from openrecipes.problems import ProblemsError
from openrecipes.recipe.read import read_recipe
from openrecipes.shipped import shipped


@pytest.fixture
def published():
    return read_recipe(shipped("recipes", "qwen3.5-397b-a17b", "h200", "attune-tp2-pp4-ep32.yaml"))


def test_a_costly_recipe_needs_yes_where_nobody_can_be_asked(published):
    with pytest.raises(ProblemsError) as caught:
        ask_cost(published, agreed=False)
    (problem,) = caught.value.problems
    assert problem.what.startswith("its own run took 68.9 GPU-hours, $545 at $7.91 each")
    assert problem.place.key == "result.gpu_hours"
    ask_cost(published, agreed=True)


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
        ask_cost(published, agreed=False)
    answers["Run it?"] = True
    ask_cost(published, agreed=False)


def test_a_recipe_without_price_is_not_asked_about():
    ask_cost(read_recipe(shipped("recipes", "qwen3.5-moe-mini", "cpu", "smoke-dp2.yaml")), agreed=False)
