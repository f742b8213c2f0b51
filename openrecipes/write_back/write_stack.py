"""A captured stack into a recipe's `stack` block.

write_stack(read_recipe(path), captured, "inside the job of NAME")     -> Written
"""

from dataclasses import asdict
from typing import Any

from openrecipes.problems import Problem, ProblemsError
from openrecipes.recipe.model import Stack
from openrecipes.recipe.read import LocatedRecipe
from openrecipes.recipe.write import plain
from openrecipes.stack.block import stack_block
from openrecipes.stack.captured import Captured
from openrecipes.write_back.write_result import Written, write_block


def write_stack(located: LocatedRecipe, captured: Captured, how: str, *, force: bool = False) -> Written:
    """Replaces the `stack` block of the recipe's file and nothing else.

    Raises: ProblemsError, nothing written, if the recipe states a part that was not captured (unless `force`), or as
    write_block.
    """
    value = stack_value(captured, how)
    stated = plain(located.recipe.stack)
    if located.recipe.trainer == "smoke":  # it is a file of this project, and has no version to capture
        value["framework"] = stated["framework"]
    lost = [name for name, text in stated.items() if text is not None and value.get(name) is None]
    if lost and not force:
        raise ProblemsError(
            *(
                Problem(
                    place=located.place(f"stack.{name}"),
                    rule="stack-loses",
                    what=f"{stated[name]}, but nothing of the kind was captured {how}",
                    mend="capture where it is loaded, as in the job: --run RUN_DIR; or write it all the same: --force",
                )
                for name in lost
            )
        )
    return write_block(located, "stack", value)


def stack_value(captured: Captured, how: str) -> dict[str, Any]:
    """The block as plain data: required fields null where a part was not there, optional ones left out."""
    required = {name for name, field in Stack.model_fields.items() if field.is_required()}
    block = asdict(stack_block(captured, how))
    return {name: value for name, value in block.items() if value is not None or name in required}
