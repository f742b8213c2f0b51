"""The building blocks of decoders as tensors, each with the layers that hold it."""

from openrecipes.catalog.model_parts import Role, Tensor

Layers = tuple[int, ...]

# Every weight of two or more dimensions that one token multiplies with is active; these are not.
_LOOK_UP = "a look-up, not a product"
_VECTOR = "one dimension"


def weight(name: str, role: Role, shape: tuple[int, ...], layers: Layers) -> tuple[Tensor, ...]:
    """One tensor in each of the layers, active if it has two or more dimensions; nothing without layers."""
    if not layers:
        return ()
    return (_tensor(f"model.layers.*.{name}", role, shape, layers, used=len(shape) > 1),)


def ends(vocab_size: int, hidden_size: int, *, tied: bool) -> tuple[Tensor, ...]:
    """Embedding, final norm and LM head; where tied, the one matrix counts as the head."""
    matrix = (vocab_size, hidden_size)
    norm = _tensor("model.norm.weight", Role.NORM, (hidden_size,), (), used=False)
    if tied:
        return (_tensor("model.embed_tokens.weight", Role.OUTPUT, matrix, (), used=True), norm)
    return (
        _tensor("model.embed_tokens.weight", Role.EMBEDDING, matrix, (), used=False),
        norm,
        _tensor("lm_head.weight", Role.OUTPUT, matrix, (), used=True),
    )


def layer_norms(hidden_size: int, layers: Layers) -> tuple[Tensor, ...]:
    """The norms before attention and before the MLP."""
    return (
        *weight("input_layernorm.weight", Role.NORM, (hidden_size,), layers),
        *weight("post_attention_layernorm.weight", Role.NORM, (hidden_size,), layers),
    )


def grouped_query_attention(
    layers: Layers, *, hidden: int, heads: int, groups: int, head_dim: int, gated: bool = False, qkv_bias: bool = False,
    output_bias: bool = False, qk_norm: bool = True,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Query, key, value and output projections; a gated query projection is twice as wide."""
    query, key = heads * head_dim * (2 if gated else 1), groups * head_dim
    role = Role.ATTENTION
    biases = (("q_proj", query), ("k_proj", key), ("v_proj", key)) if qkv_bias else ()
    if output_bias:
        biases = (*biases, ("o_proj", hidden))
    norms = ("q_norm", "k_norm") if qk_norm else ()
    return (
        *weight("self_attn.q_proj.weight", role, (query, hidden), layers),
        *weight("self_attn.k_proj.weight", role, (key, hidden), layers),
        *weight("self_attn.v_proj.weight", role, (key, hidden), layers),
        *weight("self_attn.o_proj.weight", role, (hidden, heads * head_dim), layers),
        *(t for name, width in biases for t in weight(f"self_attn.{name}.bias", role, (width,), layers)),
        *(t for name in norms for t in weight(f"self_attn.{name}.weight", Role.NORM, (head_dim,), layers)),
    )


def gated_delta_net(
    layers: Layers, *, hidden: int, key_heads: int, key_dim: int, value_heads: int, value_dim: int, taps: int,
    joined_inputs: bool = False,
) -> tuple[Tensor, ...]:  # fmt: skip
    """A linear-attention mixer; `joined_inputs` as Qwen3-Next stores it: QKVZ and BA in one matrix each."""
    keys, values = key_heads * key_dim, value_heads * value_dim
    inputs = {"in_proj_qkv": 2 * keys + values, "in_proj_z": values, "in_proj_b": value_heads, "in_proj_a": value_heads}
    if joined_inputs:
        inputs = {"in_proj_qkvz": 2 * keys + 2 * values, "in_proj_ba": 2 * value_heads}
    role = Role.LINEAR_ATTENTION
    return (
        *(
            t
            for name, rows in inputs.items()
            for t in weight(f"linear_attn.{name}.weight", role, (rows, hidden), layers)
        ),
        *weight("linear_attn.conv1d.weight", role, (2 * keys + values, 1, taps), layers),
        *weight("linear_attn.out_proj.weight", role, (hidden, values), layers),
        *weight("linear_attn.A_log", role, (value_heads,), layers),
        *weight("linear_attn.dt_bias", role, (value_heads,), layers),
        *weight("linear_attn.norm.weight", Role.NORM, (value_dim,), layers),
    )


def gated_mlp(prefix: str, role: Role, hidden: int, inner: int, layers: Layers) -> tuple[Tensor, ...]:
    """Gate, up and down projections."""
    return (
        *weight(f"{prefix}.gate_proj.weight", role, (inner, hidden), layers),
        *weight(f"{prefix}.up_proj.weight", role, (inner, hidden), layers),
        *weight(f"{prefix}.down_proj.weight", role, (hidden, inner), layers),
    )


def routed_experts(layers: Layers, *, hidden: int, inner: int, experts: int, top_k: int) -> tuple[Tensor, ...]:
    """The router and its experts, of which one token uses top_k."""
    if not layers:
        return ()
    role, names = Role.ROUTED_EXPERT, "model.layers.*.mlp.experts.*"
    return (
        *weight("mlp.gate.weight", Role.ROUTER, (experts, hidden), layers),
        Tensor(name=f"{names}.gate_up_proj", role=role, shape=(2 * inner, hidden), layers=layers, copies=experts,
               used_copies=top_k, why_not_active=""),
        Tensor(name=f"{names}.down_proj", role=role, shape=(hidden, inner), layers=layers, copies=experts,
               used_copies=top_k, why_not_active=""),
    )  # fmt: skip


def _tensor(name: str, role: Role, shape: tuple[int, ...], layers: Layers, *, used: bool) -> Tensor:
    reason = "" if used else (_VECTOR if len(shape) == 1 else _LOOK_UP)
    return Tensor(
        name=name, role=role, shape=shape, layers=layers, copies=1, used_copies=int(used), why_not_active=reason
    )
