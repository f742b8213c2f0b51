"""What a YAML file is meant as, told without the models of one: `check` of recipes needs none of a profile."""

import re
from pathlib import Path
from typing import Final, Literal

from openrecipes.located_yaml import read_text
from openrecipes.problems import ProblemsError

Kind = Literal["recipe", "profile", "other"]
# Keys that a recipe has and that are the first words of few other files; one is enough of a file half written.
_OF_A_RECIPE: Final = re.compile(r"(?m)^(gpu|workload|layout|stack|result|run) *:")


def kind_of(path: Path, *, otherwise: Kind = "other") -> Kind:
    """What a file is meant as: a profile says a target and no model; `otherwise` where nothing in it says.

    One that cannot be read counts as a recipe, whose reader says why.
    """
    try:
        text = read_text(path)
    except ProblemsError:
        return "recipe"
    if re.search(r"(?m)^target:", text) is not None and re.search(r"(?m)^model:", text) is None:
        return "profile"
    return "recipe" if _OF_A_RECIPE.search(text) else otherwise
