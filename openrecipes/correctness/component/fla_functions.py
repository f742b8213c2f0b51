"""flash-linear-attention's own kernel on a component's case, called as slime's layer calls it. Against fla 0.4.1."""

import torch
from fla.ops.gated_delta_rule import chunk_gated_delta_rule

from openrecipes.correctness.component.delta_rule import DeltaCase, DeltaResult


def gated_delta_rule(case: DeltaCase) -> DeltaResult:
    """Forward and backward; the kernel wants a batch dimension, and packed sequences by their ends."""
    inputs = [one.unsqueeze(0).clone().requires_grad_() for one in (case.q, case.k, case.v, case.g, case.beta)]
    q, k, v, g, beta = inputs
    output, _ = chunk_gated_delta_rule(
        q,
        k,
        v,
        g=g,
        beta=beta,
        initial_state=None,
        output_final_state=False,
        use_qk_l2norm_in_kernel=True,
        cu_seqlens=torch.tensor(case.ends, dtype=torch.long, device=q.device),
    )
    gradients = torch.autograd.grad(output, inputs, case.gradient.unsqueeze(0))
    return DeltaResult(
        output=output.detach().squeeze(0),
        q_gradient=gradients[0].squeeze(0),
        k_gradient=gradients[1].squeeze(0),
        v_gradient=gradients[2].squeeze(0),
        g_gradient=gradients[3].squeeze(0),
        beta_gradient=gradients[4].squeeze(0),
    )
