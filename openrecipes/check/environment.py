"""Rules over the environment: `env` against the exports of `run`, the layout, and what may stand in a recipe."""

import re
from collections.abc import Iterator
from typing import Final

from openrecipes.check.rule import Finding, Section, rule
from openrecipes.check.subject import Subject
from openrecipes.render.environment import KNOWN_EXPRESSIONS, environment_problems

_SECRET: Final = re.compile(r"(^|_)(TOKEN|SECRET|PASSWORD|PASSWD|API_?KEY|ACCESS_KEY|SECRET_KEY|CREDENTIALS?)$")
_BLACKWELL: Final = (10, 0)
_CONNECTIONS: Final = "CUDA_DEVICE_MAX_CONNECTIONS"
# What Megatron-LM sets for each --attention-backend; it stops where one of these is set otherwise.
_ATTENTION: Final = {
    "flash": {"NVTE_FLASH_ATTN": "1", "NVTE_FUSED_ATTN": "0", "NVTE_UNFUSED_ATTN": "0"},
    "fused": {"NVTE_FLASH_ATTN": "0", "NVTE_FUSED_ATTN": "1", "NVTE_UNFUSED_ATTN": "0"},
    "unfused": {"NVTE_FLASH_ATTN": "0", "NVTE_FUSED_ATTN": "0", "NVTE_UNFUSED_ATTN": "1"},
    "local": {"NVTE_FLASH_ATTN": "0", "NVTE_FUSED_ATTN": "0", "NVTE_UNFUSED_ATTN": "0"},
    "auto": {"NVTE_FLASH_ATTN": "1", "NVTE_FUSED_ATTN": "1", "NVTE_UNFUSED_ATTN": "1"},
}


@rule("env-exports", Section.ENVIRONMENT, "run exports what env holds, and nothing else.")
def exports(subject: Subject) -> Iterator[Finding]:
    """A variable that only one of the two has, or has otherwise."""
    env, unread = subject.recipe.env, subject.located.unread_in("env")
    exported = {item.name: item.value for item in subject.script.assignments if item.is_exported}
    for name, value in env.items():
        if name not in exported:
            yield Finding(
                key=f"env.{name}",
                what=f"{value}, but run does not export {name}",
                mend="add the export to run, or remove the variable from env",
            )
    for name, word in exported.items():
        line = subject.run_line(word.line)
        if name in unread:
            continue
        if name not in env:
            yield Finding(
                key="run",
                line=line,
                what=f"exports {name}, which env does not hold",
                mend=f"add {name} to env, or remove the export",
            )
        elif word.text != env[name]:
            yield Finding(
                key="run",
                line=line,
                what=f"exports {name}={word.raw}, but env.{name} is {env[name]}",
                mend="write the same value in both",
            )


@rule("env-connections", Section.ENVIRONMENT, "below Blackwell, tp or cp above 1 needs CUDA_DEVICE_MAX_CONNECTIONS=1.")
def connections(subject: Subject) -> Iterator[Finding]:
    """A setting without which Megatron-LM stops at the start."""
    layout, gpu = subject.recipe.layout, subject.gpu
    capability = gpu.compute_capability.value if gpu and gpu.compute_capability else None
    if capability is None or capability >= _BLACKWELL or (layout.tp == 1 and layout.cp == 1):
        return
    if _CONNECTIONS in subject.located.unread_in("env"):
        return
    value = subject.recipe.env.get(_CONNECTIONS)
    if subject.recipe.trainer == "slime" and value != "1":
        yield Finding(
            key=f"env.{_CONNECTIONS}",
            what=f"{value or 'not set'}, but tp {layout.tp} and cp {layout.cp} on {subject.recipe.gpu.type} need 1",
            mend=f"set env.{_CONNECTIONS} to '1', in run too",
        )


@rule("env-attention", Section.ENVIRONMENT, "no NVTE_*_ATTN variable contradicts --attention-backend.")
def attention(subject: Subject) -> Iterator[Finding]:
    """A variable that Megatron-LM finds set otherwise, and stops."""
    if subject.command is None or "--attention-backend" in subject.unknown_flags:
        return
    given = {item.flag: item.values for item in subject.command.arguments}
    backend = " ".join(given.get("--attention-backend", ("auto",)))
    for name, needed in _ATTENTION.get(backend, {}).items():
        value = subject.recipe.env.get(name)
        if subject.recipe.trainer == "slime" and value is not None and value != needed:
            yield Finding(
                key=f"env.{name}",
                what=f"{value}, but --attention-backend {backend} needs {needed}",
                mend=f"remove {name}: the trainer sets it, or choose another attention_backend in arguments",
            )


@rule("env-substitution", Section.ENVIRONMENT, "a $(...) is one that the launch knows.", "warning")
def substitution(subject: Subject) -> Iterator[Finding]:
    """A program of the recipe's own, which a launch refuses to run unless told otherwise."""
    unclosed = {problem.place.key for problem in environment_problems(subject.recipe.env)}
    for name, value in subject.recipe.env.items():
        if "$(" in value and value not in KNOWN_EXPRESSIONS and f"env.{name}" not in unclosed:
            yield Finding(
                key=f"env.{name}",
                what=f"{value[:80]} would run on every node",
                mend="write the value out; the launch refuses other programs than its own",
            )


@rule("env-secret", Section.ENVIRONMENT, "no secret stands in a recipe.")
def secret(subject: Subject) -> Iterator[Finding]:
    """A credential in a file that is published. Its value is not repeated."""
    for name, value in subject.recipe.env.items():
        if value and _SECRET.search(name.upper()):
            yield Finding(
                key=f"env.{name}",
                what=f"{name} looks like a secret, and recipes are published",
                mend="remove it here and in run; the cluster profile names secrets by reference",
            )
