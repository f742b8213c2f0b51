"""What a summary may claim of the command: phrases, and the flags that must then stand there."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim:
    """A phrase and its flag. Where the pattern has a group, the flag's value must be what the group matched.

    Every phrase holds one of the `needles`, in lower case: only then is its pattern compiled, which takes longer.
    """

    needles: tuple[str, ...]
    pattern: str
    flag: str

    def matches(self, text: str) -> Iterator[re.Match[str]]:
        """Every phrase of the text that claims this."""
        if any(needle in text.lower() for needle in self.needles):
            yield from re.finditer(self.pattern, text, re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Contradiction:
    """A phrase of the text, and what the command has instead."""

    words: str
    flag: str
    actual: str


_NUMBER: Final = r"([0-9]*\.?[0-9]+(?:e[-+]?[0-9]+)?)"


def _claim(flag: str, needles: tuple[str, ...], pattern: str) -> Claim:
    return Claim(needles=needles, pattern=rf"\b(?:{pattern})(?!\w)", flag=flag)


CLAIMS: Final = (
    _claim("--moe-permute-fusion", ("permut",), "(?:MoE )?(?:permute fusion|fused permut(?:e|ation))"),
    _claim("--moe-grouped-gemm", ("gemm",), "grouped[- ]GEMMs?"),
    _claim("--use-distributed-optimizer", ("distributed optimizer",), "distributed optimizer"),
    _claim("--use-precision-aware-optimizer", ("precision-aware",), "precision-aware(?: distributed)?(?: optimizer)?"),
    _claim("--moe-shared-expert-overlap", ("expert overlap",), "shared[- ]expert overlap"),
    _claim("--overlap-grad-reduce", ("reduc",), "overlap(?:ped)? grad(?:ient)?(?: |-)reduc(?:e|tion)"),
    _claim("--overlap-param-gather", ("gather",), "overlap(?:ped)? param(?:eter)?(?: |-)gather"),
    _claim("--overlap-moe-expert-parallel-comm", ("parallel",), "expert[- ]parallel (?:communication )?overlap"),
    _claim("--tp-comm-overlap", ("overlap",), "TP (?:communication )?overlap"),
    _claim("--fp8-format", ("fp8",), "FP8"),
    _claim("--attention-backend", ("attention",), "(flash|fused|unfused) attention"),
    _claim(
        "--lr-decay-style",
        ("decay", "schedule", "learning rate"),
        "(cosine|linear|constant) (?:decay|schedule|learning rate)",
    ),
    _claim("--optimizer", ("adam", "sgd", "muon"), "(adam|sgd|muon)W?"),
    _claim("--lr", ("lr ", "learning rate"), f"(?:lr|learning rate) {_NUMBER}"),
    _claim("--weight-decay", ("weight decay",), f"weight decay {_NUMBER}"),
    _claim("--lr-warmup-fraction", ("warm",), f"warm-?up (?:fraction )?{_NUMBER}"),
    _claim("--clip-grad", ("clip",), f"(?:gradient|grad) clip(?:ping)?(?: at)? {_NUMBER}"),
)
_DENIED: Final = re.compile(r"\b(?:no|not|without|non) $", re.IGNORECASE)


def contradictions(text: str, command: Mapping[str, tuple[str, ...]]) -> Iterator[Contradiction]:
    """What the text says of flags and the command, each flag with its values, does not."""
    for claim in CLAIMS:
        for match in claim.matches(text):
            denied = _DENIED.search(text[: match.start()])
            words = (denied[0] if denied else "") + match[0]
            values = command.get(claim.flag)
            claimed = match[1] if match.re.groups else None
            if denied:
                if values is not None and claimed is None:
                    yield Contradiction(words=words, flag=claim.flag, actual=f"{claim.flag} there")
            elif values is None:
                yield Contradiction(words=words, flag=claim.flag, actual=f"no {claim.flag}")
            elif claimed is not None and not _same(claimed, " ".join(values)):
                actual = f"{claim.flag} {' '.join(values)}"
                yield Contradiction(words=words, flag=claim.flag, actual=actual)


def _same(claimed: str, value: str) -> bool:
    try:
        return float(claimed) == float(value)
    except ValueError:
        return claimed.lower() == value.lower()
