"""The trainer's own parser, read from real checkouts, in the catalogue's form."""

import json
import os
import re
import subprocess
from datetime import date
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from openrecipes.catalog.arguments import Argument, ArgumentCatalogue
from openrecipes.problems import OutsideError, Place, Problem, UsageError, together, unreadable

PROGRAM: Final = Path(__file__).with_name("snapshot_program.py")
_SECONDS: Final = 300
_ACTIONS: Final = {
    "_StoreAction": "store",
    "_StoreTrueAction": "store_true",
    "_StoreFalseAction": "store_false",
    "BooleanOptionalAction": "boolean_optional",
}
# The parser's converters by name; one that is not named here takes text.
_KINDS: Final = {
    "int": "int",
    "float": "float",
    "bool": "bool",
    "loads": "json",
    "tuple_type": "int_tuple",
    "moe_freq_type": "layer_pattern",
    "la_freq_type": "layer_pattern",
    "no_rope_freq_type": "layer_pattern",
}


def snapshot(
    slime: Path, megatron: Path, *, python: str, commits: tuple[str | None, str | None], today: date
) -> ArgumentCatalogue:
    """Every argument of slime's parser over these checkouts, by flag.

    `python` is an interpreter with the trainer's imports; `commits` are slime's and Megatron-LM's, None where the
    checkout's own git knows.
    Raises: UsageError for a folder that is no checkout or has no known commit; OutsideError if slime fails.
    """
    slime_commit, megatron_commit = together(
        lambda: _commit(slime, "slime/utils/arguments.py", "--slime", commits[0]),
        lambda: _commit(megatron, "megatron/training/arguments.py", "--megatron", commits[1]),
    )
    dump = _dump(slime, megatron, python)
    return ArgumentCatalogue(
        stack_id=f"slime-{slime_commit[:8]}+megatron-{megatron_commit[:8]}",
        slime=slime_commit,
        megatron_lm=megatron_commit,
        megatron_patch="docker/patch/latest/megatron.patch of the same slime commit",
        entry="train_async.py",
        source="the trainer's own parser, read by introspection of both checkouts",
        retrieved=today,
        unknown_flags="dropped in silence",
        abbreviations=False,
        arguments=tuple(sorted(map(_argument, dump), key=lambda argument: argument.flags)),
    )


def snapshot_text(file: ArgumentCatalogue) -> str:
    """The file as the catalogue stores it: JSON, one argument a line."""
    head = file.model_dump(mode="json", exclude={"arguments"})
    lines = [f" {json.dumps(key)}: {json.dumps(value)},\n" for key, value in head.items()]
    rows = [json.dumps(argument.model_dump(mode="json", exclude_defaults=True)) for argument in file.arguments]
    return "{\n" + "".join(lines) + ' "arguments": [\n ' + ",\n ".join(rows) + "\n ]\n}\n"


def _commit(folder: Path, part: str, option: str, given: str | None) -> str:
    if not (folder / part).is_file():
        raise unreadable(str(folder), f"{folder} has no {part}", f"name a checkout with {option}")
    found = given or ""
    if not given and (folder / ".git").exists():
        call = ["git", "-C", str(folder), "rev-parse", "HEAD"]
        found = subprocess.run(call, capture_output=True, text=True, check=False).stdout.strip()
    if not re.fullmatch(r"[0-9a-f]{40}", found):
        what = f"the commit of {folder} is unknown: it is no git checkout"
        mend = f"give its 40 digits with {option}-commit"
        raise UsageError(Problem(place=Place(file=str(folder)), rule="commit-known", what=what, mend=mend))
    return found


def _dump(slime: Path, megatron: Path, python: str) -> list[dict[str, Any]]:
    # A default may depend on the environment (Megatron-LM has one that is the world size), so that is fixed.
    env = {**os.environ, "SLIME_DIR": str(slime), "MEGATRON_DIR": str(megatron), "WORLD_SIZE": "1"}
    try:
        done = subprocess.run(
            [python, str(PROGRAM)], env=env, capture_output=True, text=True, check=False, timeout=_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _failed(f"{python} could not read the parser: {error}") from error
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise _failed(f"slime's parser could not be built: {last}")
    try:
        found: list[dict[str, Any]] = json.loads(done.stdout)
    except ValueError as error:
        raise _failed(f"{python} printed something else than the parser") from error
    return found


def _failed(what: str) -> OutsideError:
    mend = "name with --python an interpreter that has torch, numpy and transformers, and the patched Megatron-LM"
    return OutsideError(Problem(place=Place(), rule="snapshot-runs", what=what, mend=mend))


def _argument(raw: dict[str, Any]) -> Argument:
    action = _ACTIONS.get(raw["action"])
    fields = {name: raw[name] for name in ("flags", "dest", "default", "required", "help", "defined_by")}
    if action == "store":
        kind = "enum" if raw["enum"] else _KINDS.get(raw["type"] or "", "text")
        fields |= {"value": kind, "nargs": raw["nargs"], "choices": raw["choices"]}
    try:
        return Argument.model_validate_json(json.dumps({**fields, "action": action}))
    except ValidationError as error:
        what = f"{raw['flags'][0]} is of a kind that the catalogue has no form for: {raw['action']}, {raw['type']}"
        raise _failed(what) from error
