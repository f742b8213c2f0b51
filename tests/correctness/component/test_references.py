"""The references against other people's code in FP64, so that a formula of ours cannot vouch for itself."""

from dataclasses import replace

import pytest
import torch
from torch.nn import functional

from openrecipes.correctness.component import moe_permute, norm, routing, vocab_parallel
from openrecipes.correctness.component.delta_rule import DeltaCase, in_bf16_chunks, in_chunks, token_by_token
from openrecipes.correctness.component.tensor_error import relative_l2

GENERATOR = torch.Generator().manual_seed(7)


def normal(*size: int) -> torch.Tensor:
    return torch.randn(*size, generator=GENERATOR)


@pytest.mark.parametrize("zero_centred", [True, False])
def test_rms_norm_is_torchs(zero_centred):
    case = norm.NormCase(
        tensor="n", x=normal(6, 32).bfloat16(), gain=normal(32).bfloat16(), gradient=normal(6, 32).bfloat16(),
        eps=1e-3, zero_centred=zero_centred,
    )  # fmt: skip
    x, gain = case.x.double().requires_grad_(), case.gain.double().requires_grad_()
    output = functional.rms_norm(x, (32,), gain + 1 if zero_centred else gain, eps=1e-3)
    gradients = torch.autograd.grad(output, (x, gain), case.gradient.double())
    found = norm.exact(case)
    for ours, theirs in zip((found.output, found.x_gradient, found.gain_gradient), (output, *gradients), strict=True):
        torch.testing.assert_close(ours, theirs.detach(), rtol=1e-12, atol=1e-13)


def test_cross_entropy_is_torchs_over_the_padded_vocabulary():
    case = vocab_parallel.LossCase(
        logits=normal(5, 256) * 3, targets=torch.tensor([0, 63, 64, 127, 200]), weights=normal(5), tp=4, vocabulary=250
    )
    logits = case.logits.double().requires_grad_()
    losses = functional.cross_entropy(logits, case.targets, reduction="none")
    (gradient,) = torch.autograd.grad(losses, logits, case.weights.double())
    loss, ours = vocab_parallel.exact(case)
    torch.testing.assert_close(loss, losses.detach(), rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(ours, gradient, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize(
    ("vocabulary", "tp", "padded"), [(248320, 2, 248320), (248320, 8, 248832), (151936, 1, 151936)]
)
def test_the_vocabulary_is_padded_as_megatron_pads_it(vocabulary, tp, padded):
    assert vocab_parallel.padded_vocabulary(vocabulary, tp) == padded


@pytest.mark.parametrize("tp", [1, 2, 4])
def test_the_loss_does_not_depend_on_the_split(tp):
    case = vocab_parallel.LossCase(
        logits=normal(5, 256).bfloat16().float(), targets=torch.tensor([0, 63, 64, 127, 255]), weights=normal(5), tp=tp,
        vocabulary=256,
    )  # fmt: skip
    one = vocab_parallel.in_fp32(replace(case, tp=1))
    torch.testing.assert_close(vocab_parallel.in_fp32(case).loss, one.loss, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("pre_softmax", [True, False])
def test_routing_gradients_are_those_of_automatic_differentiation(pre_softmax):
    case = routing.RouterCase(
        hidden=normal(9, 16).bfloat16(), weight=normal(8, 16).bfloat16(), gradient=normal(9, 8), top_k=3,
        pre_softmax=pre_softmax,
    )  # fmt: skip
    hidden, weight = case.hidden.double().requires_grad_(), case.weight.double().requires_grad_()
    logits = hidden @ weight.T
    scores, chosen = logits.topk(3, dim=1)
    probabilities = logits.softmax(1).gather(1, chosen) if pre_softmax else scores.softmax(1)
    mask = torch.zeros_like(logits, dtype=torch.bool).scatter(1, chosen, value=True)
    gradients = torch.autograd.grad(probabilities, (hidden, weight), case.gradient.double().gather(1, chosen))
    found = routing.exact(case, mask)
    torch.testing.assert_close(found.hidden_gradient, gradients[0], rtol=1e-11, atol=1e-12)
    torch.testing.assert_close(found.weight_gradient, gradients[1], rtol=1e-11, atol=1e-12)
    shown = routing.exact_probabilities(logits.detach(), mask, pre_softmax=pre_softmax)
    torch.testing.assert_close(shown.gather(1, chosen), probabilities.detach())


def test_a_permute_puts_rows_by_expert_then_token_and_an_unpermute_adds_them_up():
    mask = torch.tensor([[True, False, True], [False, True, True]])
    probabilities = torch.tensor([[0.25, 0.0, 0.75], [0.0, 0.5, 0.5]])
    case = moe_permute.Routed(
        tokens=torch.tensor([[1.0, 2.0], [3.0, 4.0]]).bfloat16(), mask=mask, probabilities=probabilities,
        expert_rows=torch.tensor([[1.0, 1.0], [10.0, 10.0], [2.0, 2.0], [20.0, 20.0]]).bfloat16(),
        permuted_gradient=torch.ones(4, 2).bfloat16(), permuted_probabilities_gradient=torch.arange(4.0),
        merged_gradient=torch.tensor([[1.0, 0.0], [0.0, 2.0]]).bfloat16(),
    )  # fmt: skip
    for found in (moe_permute.exact(case), moe_permute.in_pytorch(case)):
        assert found.permuted.tolist() == [[1, 2], [3, 4], [1, 2], [3, 4]]  # experts 0, 1, 2, 2
        assert found.permuted_probabilities.tolist() == [0.25, 0.5, 0.75, 0.5]
        assert found.summed.tolist() == [[3, 3], [30, 30]]
        assert found.merged.tolist() == [[1.75, 1.75], [15, 15]]
        assert found.tokens_gradient.tolist() == [[2, 2], [2, 2]]
        assert found.probabilities_gradient.tolist() == [[0, 0, 2], [0, 1, 3]]
        assert found.rows_gradient.tolist() == [[1, 0], [0, 2], [1, 0], [0, 2]]
        assert found.merging_gradient.tolist() == [[1, 0, 2], [0, 20, 40]]


def delta_case(*, ends: tuple[int, ...] = (0, 70, 150)) -> DeltaCase:
    return DeltaCase(
        q=normal(150, 2, 8).bfloat16(), k=normal(150, 2, 8).bfloat16(), v=normal(150, 2, 6).bfloat16(),
        g=-functional.softplus(normal(150, 2)) * 0.1, beta=normal(150, 2).sigmoid().bfloat16(),
        gradient=normal(150, 2, 6).bfloat16(), ends=ends,
    )  # fmt: skip


def test_a_delta_rule_by_hand():
    one = torch.ones(2, 1, 1).bfloat16()
    case = DeltaCase(
        q=one, k=one, v=torch.tensor([3.0, 5.0]).view(2, 1, 1).bfloat16(), g=torch.tensor([[0.0], [-0.5]]),
        beta=torch.full((2, 1), 0.5).bfloat16(), gradient=one, ends=(0, 2),
    )  # fmt: skip
    first = 0.5 * 3.0
    kept = first * torch.exp(torch.tensor(-0.5, dtype=torch.float64)).item()
    second = kept + 0.5 * (5.0 - kept)
    torch.testing.assert_close(
        token_by_token(case).output.flatten(), torch.tensor([first, second], dtype=torch.float64), rtol=1e-5, atol=0
    )


@pytest.mark.parametrize("ends", [(0, 150), (0, 1, 150), (0, 64, 128, 150), (0, 70, 150)])
def test_chunks_agree_with_token_by_token_however_sequences_are_packed(ends):
    case = delta_case(ends=ends)
    exact = dict(token_by_token(case).named())
    for name, tensor in in_chunks(case).named():
        assert relative_l2(tensor, exact[name]) < 1e-5, name
    for name, tensor in in_bf16_chunks(case).named():
        assert 1e-4 < relative_l2(tensor, exact[name]) < 2e-2, name


def test_a_packed_sequence_does_not_see_the_one_before_it():
    case = delta_case()
    changed = replace(case, v=torch.cat((case.v[:70] * 3, case.v[70:])))
    assert torch.equal(token_by_token(case).output[70:], token_by_token(changed).output[70:])
