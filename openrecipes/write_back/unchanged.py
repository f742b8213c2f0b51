"""Proof that a new text of a recipe differs from the old one in one block only."""

from collections.abc import Mapping
from typing import Any

from openrecipes.located_yaml import located_yaml
from openrecipes.problems import Place, Problem, ProblemsError, errors_in
from openrecipes.recipe.read import parse_recipe
from openrecipes.write_back.block_span import BlockSpan, block_span, rest_of_line


def prove_unchanged(before: str, after: str, file: str, key: str, value: Mapping[str, Any]) -> None:
    """Nothing comes out where `after` is `before` with the block's value replaced by `value`.

    Both texts are read anew: bytes before and after the block, every other value, their order, the block's value,
    and that the recipe is still sound. Raises: ProblemsError naming what else would change.
    """
    try:
        changed = _changed(before, after, file, key, value)
    except ProblemsError as error:
        changed = str(error.problems[0].what)
    if changed is not None:
        raise ProblemsError(
            Problem(
                place=Place(file=file, key=key),
                rule="write-unproven",
                what=f"replacing {key} would not leave all else as it is: {changed}",
                mend=f"write the block `{key}` in the form of the files in recipes/, then try again",
            )
        )


def same_value(one: Any, other: Any) -> bool:
    """Whether two plain values are the same to a reader of the file: 1 and true are not, 4 and 4.0 are."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return list(one) == list(other) and all(same_value(one[name], other[name]) for name in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same_value, one, other))
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


def _changed(before: str, after: str, file: str, key: str, value: Mapping[str, Any]) -> str | None:
    old, new = located_yaml(before, file), located_yaml(after, file)
    first, second = block_span(before, file, key), block_span(after, file, key)
    if before[: first.head_end] != after[: second.head_end]:
        return "the text before it"
    if before[_last(before, first) :] != after[_last(after, second) :]:
        return "the text after it"
    if list(old.value) != list(new.value):
        return "the keys of the recipe"
    others = [name for name in old.value if name != key and not same_value(old.value[name], new.value[name])]
    if others:
        return f"the value of {others[0]}"
    if not _same_block(new.value[key], value):
        return "the block does not read back as it was meant"
    if _errors(after, file) > _errors(before, file):
        return "the recipe would no longer be sound"
    return None


def _same_block(read: Any, meant: Mapping[str, Any]) -> bool:
    """The block's entries, in whatever order: an author's own order is kept."""
    if not isinstance(read, Mapping) or set(read) != set(meant):
        return False
    return all(same_value(read[name], meant[name]) for name in meant)


def _last(text: str, span: BlockSpan) -> int:
    return span.entries[-1].line_end if span.entries else rest_of_line(text, span.end)


def _errors(text: str, file: str) -> int:
    return len(errors_in(parse_recipe(text, file).problems))
