"""Rules over prose: what label, summary, highlights and notes claim against the fields."""

import re
import textwrap
from collections.abc import Iterable, Iterator
from typing import Final

from openrecipes.check.claims import contradictions
from openrecipes.check.rule import Finding, Section, rule
from openrecipes.check.subject import Subject
from openrecipes.figures.gpu_hours import NOTE_SAYS
from openrecipes.recipe.layout import Recompute
from openrecipes.render.settings import settings
from openrecipes.render.summary import PERMUTE_FUSION, lists
from openrecipes.render.summary import label as label_of

DEGREES: Final = ("tp", "pp", "vpp", "cp", "ep", "etp", "dp")
_LABEL_DEGREE: Final = re.compile(r"\b(TP|PP|VPP|CP|EP|ETP|DP)([0-9]{1,7})\b")
_DEGREE: Final = re.compile(r"\b(TP|PP|VPP|CP|EP|ETP|DP) ?([0-9]{1,7})\b")
_NUMBERS: Final = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_ROWS: Final = re.compile(r"\b(\w{1,12}) ([0-9][0-9,]{0,12})-token rows? (?:per|a) microbatch\b")
_RECOMPUTE: Final = re.compile(r"\b(no|full|selective) recompute(?: \((uniform|block), ([0-9]{1,5}) layers?\))?")
_DISPATCHER: Final = re.compile(r"\b(alltoall|allgather|flex) dispatcher\b")
_DEEPEP: Final = re.compile(r"\bDeepEP\b")
_OFFLOAD: Final = re.compile(r"\b(no|optimizer|activations?) offload\b")
_MAX_TOKENS: Final = re.compile(r"\bmax ([0-9][0-9,]{0,12}) tokens/GPU\b")
_IN_NODE: Final = re.compile(r"\b([0-9]{1,7}) GPUs? (in one|in a single|in each|per|a) node\b")
_NODES: Final = re.compile(r"\b([0-9]{1,7}) nodes?\b")
_PATCHED: Final = re.compile(r"\b(backport\w*|patch\w*|cherry-pick\w*)\b", re.IGNORECASE)


def _claims(subject: Subject, pattern: re.Pattern[str]) -> Iterator[tuple[str, re.Match[str]]]:
    """Every match in summary and highlights, with its key."""
    layout = subject.recipe.layout
    for key in ("summary", "highlights"):
        for match in pattern.finditer(_text(layout, key)):
            yield f"layout.{key}", match


def _text(block: object, key: str) -> str:
    """A block's text; none where it could not be read, which hides no other."""
    return getattr(block, key, None) or ""


@rule("words-label", Section.WORDS, "the label is the one that the degrees give.")
def label(subject: Subject) -> Iterator[Finding]:
    """A label of another layout, or written otherwise."""
    written = subject.recipe.layout.label
    if any(subject.is_unread(f"layout.{name}") for name in DEGREES):
        yield from _degrees_of(subject, "layout.label", _LABEL_DEGREE.finditer(written))
        return
    derived = label_of(subject.recipe)
    if written != derived:
        yield Finding(
            key="layout.label",
            what=f"{written}, but the fields give {derived}",
            mend=f"set layout.label to {derived}, or change the degrees",
        )


@rule("words-degrees", Section.WORDS, "degrees in summary and highlights are those of the fields.")
def degrees(subject: Subject) -> Iterator[Finding]:
    """A degree that a field contradicts."""
    for key in ("summary", "highlights"):
        yield from _degrees_of(subject, f"layout.{key}", _DEGREE.finditer(_text(subject.recipe.layout, key)))


def _degrees_of(subject: Subject, key: str, claims: Iterable[re.Match[str]]) -> Iterator[Finding]:
    """Those of the claims that a degree which could be read contradicts."""
    for match in claims:
        name, claimed = match[1].lower(), int(match[2])
        if not subject.is_unread(f"layout.{name}") and claimed != getattr(subject.recipe.layout, name):
            yield _contradicted(key, match[0], f"layout.{name}", getattr(subject.recipe.layout, name))


@rule("words-rows", Section.WORDS, "rows a microbatch in summary and highlights are those of the fields.")
def rows(subject: Subject) -> Iterator[Finding]:
    """Another number or another length of rows."""
    stated = {
        "layout.rows_per_microbatch": getattr(subject.recipe.layout, "rows_per_microbatch", None),
        "workload.row_tokens": getattr(getattr(subject.recipe, "workload", None), "row_tokens", None),
    }
    for key, match in _claims(subject, _ROWS):
        claimed = (_count(match[1].lower()), _number(match[2]))
        for (field, actual), number in zip(stated.items(), claimed, strict=True):
            if None not in (actual, number) and actual != number:
                yield _contradicted(key, match[0], field, actual)


@rule("words-recompute", Section.WORDS, "recomputation in summary and highlights is that of the fields.")
def recompute(subject: Subject) -> Iterator[Finding]:
    """Another granularity, method or number of layers."""
    made = subject.recipe.layout.recompute
    for key, match in _claims(subject, _RECOMPUTE):
        granularity = "no" if made is None else made.granularity
        same = match[1] == granularity
        if same and match[2] and made is not None:
            claimed = {"method": match[2], "num_layers": int(match[3])}
            same = all(getattr(made, name, value) == value for name, value in claimed.items())
        if not same:
            actual = "null" if made is None else _recompute_words(made)
            yield _contradicted(key, match[0], "layout.recompute", actual)


def _recompute_words(made: Recompute) -> str:
    parts = (getattr(made, name, None) for name in ("granularity", "method", "num_layers"))
    return ", ".join(str(part) for part in parts if part is not None)


@rule("words-dispatcher", Section.WORDS, "the dispatcher in summary and highlights is that of the field.")
def dispatcher(subject: Subject) -> Iterator[Finding]:
    """Another dispatcher."""
    for key, match in _claims(subject, _DISPATCHER):
        if match[1] != subject.recipe.layout.dispatcher:
            yield _contradicted(key, match[0], "layout.dispatcher", subject.recipe.layout.dispatcher or "null")
    for key, match in _claims(subject, _DEEPEP):
        if subject.recipe.layout.dispatcher != "flex":
            yield _contradicted(key, match[0], "layout.dispatcher", subject.recipe.layout.dispatcher or "null")


@rule("words-offload", Section.WORDS, "offloading in summary and highlights is that of the field.")
def offload(subject: Subject) -> Iterator[Finding]:
    """Another part offloaded, or none."""
    spelt = {None: "no", "optimizer": "optimizer", "activations": "activation"}[subject.recipe.layout.offload]
    for key, match in _claims(subject, _OFFLOAD):
        if match[1].removesuffix("s") != spelt:
            yield _contradicted(key, match[0], "layout.offload", subject.recipe.layout.offload or "null")


@rule("words-sequence-parallel", Section.WORDS, "sequence parallelism is claimed only where the field says so.")
def sequence_parallel(subject: Subject) -> Iterator[Finding]:
    """A claim that the field denies."""
    for key, match in _claims(subject, re.compile(r"\bsequence parallel\w*\b")):
        if not subject.recipe.layout.sequence_parallel:
            yield _contradicted(key, match[0], "layout.sequence_parallel", "false")


@rule("words-max-tokens", Section.WORDS, "the token limit in summary and highlights is that of the field.")
def max_tokens(subject: Subject) -> Iterator[Finding]:
    """Another limit."""
    for key, match in _claims(subject, _MAX_TOKENS):
        if _number(match[1]) != subject.recipe.layout.max_tokens_per_gpu:
            yield _contradicted(key, match[0], "layout.max_tokens_per_gpu", subject.recipe.layout.max_tokens_per_gpu)


@rule("words-command", Section.WORDS, "what summary and highlights say of flags is what the command has.")
def command(subject: Subject) -> Iterator[Finding]:
    """A fusion, optimizer, schedule or overlap that the command has not, or has otherwise."""
    flags = {argument.flag: argument.values for argument in subject.command.arguments} if subject.command else None
    for name in ("summary", "highlights") if flags is not None else ():
        for found in contradictions(_text(subject.recipe.layout, name), flags or {}, subject.unknown_flags):
            key = f"arguments.{found.flag.removeprefix('--').replace('-', '_')}"
            yield Finding(
                key=f"layout.{name}",
                what=f'"{found.words}", but the command has {found.actual}',
                mend=f"change the words in {name}, or {key}",
            )


@rule("words-permute-fusion", Section.WORDS, "a claimed permute fusion is a flag that readers can see.", "warning")
def permute_fusion(subject: Subject) -> Iterator[Finding]:
    """A speed-up that only the prose names, while the flag hides in MODEL_ARGS."""
    recipe = subject.recipe
    if not lists(recipe.layout.summary, PERMUTE_FUSION):
        return
    flag = "--moe-permute-fusion"
    if flag in subject.unknown_flags:
        return
    shown = {given.flag for given in subject.invocation.given} if subject.invocation else set()
    if flag not in shown and flag not in {setting.flag for setting in settings(recipe.arguments)}:
        yield Finding(
            key="layout.summary",
            what=f'"{PERMUTE_FUSION}", but neither run nor arguments shows {flag}',
            mend="set arguments.moe_permute_fusion to true, so that the flag does not hide in MODEL_ARGS",
        )


@rule("words-patches", Section.WORDS, "what stack says was patched stands in patches.", "warning")
def patches(subject: Subject) -> Iterator[Finding]:
    """A patch that only the prose names, so that nobody can apply it."""
    for name in ("framework", "megatron_lm", "transformer_engine", "pytorch", "deepep"):
        match = _PATCHED.search(_text(subject.recipe.stack, name))
        if match and not subject.recipe.patches:
            yield Finding(
                key="patches",
                what=f"empty, but stack.{name} says {match[0]}",
                mend="name the patch or the upstream commit in patches",
            )


@rule("words-network", Section.WORDS, "GPUs and nodes in stack.network are as many as in gpu.", "warning")
def network(subject: Subject) -> Iterator[Finding]:
    """The network of another number of GPUs, as in a recipe made from a smaller one."""
    said, gpus = subject.recipe.stack.network or "", subject.recipe.gpu
    for match in _IN_NODE.finditer(said):
        is_all = match[2] in ("in one", "in a single")
        name, actual = ("count", gpus.count) if is_all else ("per_node", gpus.per_node)
        if int(match[1]) != actual:
            yield _other_network(match[0], f"gpu.{name} is {actual}")
    nodes = -(-gpus.count // gpus.per_node)
    for match in _NODES.finditer(said):
        if int(match[1]) != nodes:
            yield _other_network(match[0], f"{gpus.count} GPUs, {gpus.per_node} a node, are {nodes}")


def _other_network(claim: str, actual: str) -> Finding:
    mend = "write what connects these GPUs and nodes, or null where it is not known"
    return Finding(key="stack.network", what=f'"{claim}", but {actual}', mend=mend)


@rule("words-gpu-hours", Section.WORDS, "gpu_hours counts from job start to job end, start-up included.", "warning")
def gpu_hours(subject: Subject) -> Iterator[Finding]:
    """GPU-hours by another definition, which do not compare."""
    result = subject.recipe.result
    if result.gpu_hours is not None and result.gpu_hours_note and NOTE_SAYS not in result.gpu_hours_note:
        note = textwrap.shorten(result.gpu_hours_note, 80, placeholder=" …")
        yield Finding(
            key="result.gpu_hours_note",
            what=f'"{note}", but gpu_hours is GPUs x ({NOTE_SAYS})',
            mend="measure from the job's start to its end, so that GPU-hours compare between recipes",
        )


def _contradicted(key: str, claim: str, field: str, actual: object) -> Finding:
    name = key.removeprefix("layout.")
    return Finding(
        key=key, what=f'"{claim}", but {field} is {actual}', mend=f"change the words in {name}, or set {field}"
    )


def _count(word: str) -> int | None:
    if word.isdecimal():
        return int(word)
    return _NUMBERS.index(word) if word in _NUMBERS else None


def _number(text: str) -> int:
    return int(text.replace(",", ""))
