"""What a summary may claim of the command: phrases, and the flags that must then stand there."""

import re
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, kw_only=True, slots=True)
class Contradiction:
    """A phrase of the text, and what the command has instead."""

    words: str
    flag: str
    actual: str


_NUMBER: Final = r"([0-9]*\.?[0-9]+(?:e[-+]?[0-9]+)?)"


# What is claimed, by flag: needles, one of which every phrase holds in lower case (only then is the pattern compiled,
# which takes longer), and the phrases. Where the pattern has a group, the flag's value must be what the group matched.
CLAIMS: Final[Mapping[str, tuple[tuple[str, ...], str]]] = {
    "--moe-permute-fusion": (("permut",), "(?:MoE )?(?:permute fusion|fused permut(?:e|ation))"),
    "--moe-grouped-gemm": (("gemm",), "grouped[- ]GEMMs?"),
    "--use-distributed-optimizer": (("distributed optimizer",), "distributed optimizer"),
    "--use-precision-aware-optimizer": (("precision-aware",), "precision-aware(?: distributed)?(?: optimizer)?"),
    "--moe-shared-expert-overlap": (("expert overlap",), "shared[- ]expert overlap"),
    "--overlap-grad-reduce": (("reduc",), "overlap(?:ped)? grad(?:ient)?(?: |-)reduc(?:e|tion)"),
    "--overlap-param-gather": (("gather",), "overlap(?:ped)? param(?:eter)?(?: |-)gather"),
    "--overlap-moe-expert-parallel-comm": (("parallel",), "expert[- ]parallel (?:communication )?overlap"),
    "--tp-comm-overlap": (("overlap",), "TP (?:communication )?overlap"),
    "--fp8-format": (("fp8",), "FP8"),
    "--attention-backend": (("attention",), "(flash|fused|unfused) attention"),
    "--lr-decay-style": (
        ("decay", "schedule", "learning rate"),
        "(cosine|linear|constant) (?:decay|schedule|learning rate)",
    ),
    "--optimizer": (("adam", "sgd", "muon"), "(adam|sgd|muon)W?"),
    "--lr": (("lr ", "learning rate"), f"(?:lr|learning rate) {_NUMBER}"),
    "--weight-decay": (("weight decay",), f"weight decay {_NUMBER}"),
    "--lr-warmup-fraction": (("warm",), f"warm-?up (?:fraction )?{_NUMBER}"),
    "--clip-grad": (("clip",), f"(?:gradient|grad) clip(?:ping)?(?: at)? {_NUMBER}"),
}
_DENIED: Final = re.compile(r"\b(?:no|not|without|non) $", re.IGNORECASE)


def claims(flag: str, text: str) -> Iterator[re.Match[str]]:
    """Every phrase of the text that claims this flag."""
    needles, phrases = CLAIMS[flag]
    if any(needle in text.lower() for needle in needles):
        yield from re.finditer(rf"\b(?:{phrases})(?!\w)", text, re.IGNORECASE)


def contradictions(
    text: str, command: Mapping[str, tuple[str, ...]], unknown: Container[str] = ()
) -> Iterator[Contradiction]:
    """What the text says of flags and the command, each flag with its values, does not; nothing of `unknown` ones."""
    for flag in (flag for flag in CLAIMS if flag not in unknown):
        for match in claims(flag, text):
            denied = _DENIED.search(text[: match.start()])
            words = (denied[0] if denied else "") + match[0]
            values = command.get(flag)
            claimed = match[1] if match.re.groups else None
            if denied:
                if values is not None and claimed is None:
                    yield Contradiction(words=words, flag=flag, actual=f"{flag} there")
            elif values is None:
                yield Contradiction(words=words, flag=flag, actual=f"no {flag}")
            elif claimed is not None and not _same(claimed, " ".join(values)):
                actual = f"{flag} {' '.join(values)}"
                yield Contradiction(words=words, flag=flag, actual=actual)


def _same(claimed: str, value: str) -> bool:
    try:
        return float(claimed) == float(value)
    except ValueError:
        return claimed.lower() == value.lower()
