"""Whether a file is a cluster profile, told without the models of one: `check` of recipes needs none of them."""

import re
from pathlib import Path

from openrecipes.located_yaml import read_text
from openrecipes.problems import ProblemsError


def is_profile(path: Path) -> bool:
    """Whether a file is meant as a cluster profile: it says a target and no model."""
    try:
        text = read_text(path)
    except ProblemsError:
        return False
    return re.search(r"(?m)^target:", text) is not None and re.search(r"(?m)^model:", text) is None
