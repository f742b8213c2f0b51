"""Phrases of a summary held against the flags of a command."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openrecipes.check.claims import CLAIMS, claims, contradictions

COMMAND = {
    "--moe-permute-fusion": (),
    "--use-distributed-optimizer": (),
    "--optimizer": ("adam",),
    "--attention-backend": ("flash",),
    "--lr": ("1e-5",),
    "--lr-decay-style": ("cosine",),
    "--weight-decay": ("0.1",),
}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "TP 2, PP 4; one 8,192-token row per microbatch; alltoall dispatcher",
        "MoE permute fusion; distributed optimizer",
        "AdamW, cosine decay, learning rate 0.00001, weight decay 0.10",
        "flash attention, no FP8, without grouped GEMM, no shared-expert overlap",
        "no fused attention",
    ],
)
def test_what_the_command_says_too_is_no_contradiction(text: str) -> None:
    assert list(contradictions(text, COMMAND)) == []


@pytest.mark.parametrize(
    ("text", "words", "actual"),
    [
        ("precision-aware distributed optimizer", "precision-aware distributed optimizer", "no --use-precision-aware-"),
        ("grouped GEMM", "grouped GEMM", "no --moe-grouped-gemm"),
        ("no MoE permute fusion", "no MoE permute fusion", "--moe-permute-fusion there"),
        ("no permute fusion", "no permute fusion", "--moe-permute-fusion there"),
        ("fused attention", "fused attention", "--attention-backend flash"),
        ("FP8 everywhere", "FP8", "no --fp8-format"),
        ("lr 2e-5", "lr 2e-5", "--lr 1e-5"),
        ("SGD", "SGD", "--optimizer adam"),
        ("linear decay", "linear decay", "--lr-decay-style cosine"),
    ],
)
def test_what_the_command_has_not_or_has_otherwise_is(text: str, words: str, actual: str) -> None:
    (found,) = contradictions(text, COMMAND)
    assert found.words == words
    assert found.actual.startswith(actual)


def test_every_claim_can_be_contradicted() -> None:
    for flag in CLAIMS:
        phrases = [phrase for phrase in PHRASES if any(claims(flag, phrase))]
        assert len(phrases) == 1, flag
        (found,) = contradictions(phrases[0], {})
        assert found.flag == flag
    assert len(CLAIMS) == len(PHRASES)


PHRASES = (
    "permute fusion",
    "grouped GEMM",
    "the distributed optimizer",
    "precision-aware",
    "shared-expert overlap",
    "overlapped gradient reduction",
    "overlapped parameter gather",
    "expert-parallel communication overlap",
    "TP overlap",
    "FP8",
    "unfused attention",
    "constant learning rate",
    "Adam",
    "lr 1e-5",
    "weight decay 0.1",
    "warm-up 0.1",
    "gradient clipping at 1.0",
)


@settings(max_examples=60)
@given(st.sampled_from(sorted(CLAIMS)).flatmap(lambda flag: st.tuples(st.just(flag), phrases_of(flag))))
def test_no_phrase_is_passed_over_for_want_of_its_needle(case: tuple[str, str]) -> None:
    flag, phrase = case
    assert any(claims(flag, phrase)), phrase


def phrases_of(flag: str) -> st.SearchStrategy[str]:
    return st.from_regex(re.compile(CLAIMS[flag][1], re.IGNORECASE | re.ASCII), fullmatch=True)
