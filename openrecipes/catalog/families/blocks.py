"""The building blocks of decoders as tensors, each with the layers that hold it."""

from openrecipes.catalog.families.fields import GroupedQueryConfig, RoutedExpertFields, TextConfig
from openrecipes.catalog.model_parts import LinearAttention
from openrecipes.catalog.tensors import Role, Tensor

Layers = tuple[int, ...]

# Every weight of two or more dimensions that one token multiplies with is active; these are not.
_LOOK_UP = "a look-up, not a product"
_VECTOR = "one dimension"


def weight(name: str, role: Role, shape: tuple[int, ...], layers: Layers) -> tuple[Tensor, ...]:
    """One tensor in each of the layers, active if it has two or more dimensions; nothing without layers."""
    if not layers:
        return ()
    return (_tensor(f"model.layers.*.{name}", role, shape, layers, used=len(shape) > 1),)


def ends(config: TextConfig) -> tuple[Tensor, ...]:
    """Embedding, final norm and LM head; where tied, the one matrix counts as the head."""
    matrix = (config.vocab_size, config.hidden_size)
    norm = _tensor("model.norm.weight", Role.NORM, (config.hidden_size,), (), used=False)
    if config.tie_word_embeddings:
        return (_tensor("model.embed_tokens.weight", Role.OUTPUT, matrix, (), used=True), norm)
    return (
        _tensor("model.embed_tokens.weight", Role.EMBEDDING, matrix, (), used=False),
        norm,
        _tensor("lm_head.weight", Role.OUTPUT, matrix, (), used=True),
    )


def layer_norms(config: TextConfig) -> tuple[Tensor, ...]:
    """The norms before attention and before the MLP, in every layer."""
    return (
        *weight("input_layernorm.weight", Role.NORM, (config.hidden_size,), config.layer_numbers),
        *weight("post_attention_layernorm.weight", Role.NORM, (config.hidden_size,), config.layer_numbers),
    )


def grouped_query_attention(
    layers: Layers, config: GroupedQueryConfig, *, gated: bool = False, qkv_bias: bool = False, qk_norm: bool = False
) -> tuple[Tensor, ...]:
    """Query, key, value and output projections; a gated query projection is twice as wide."""
    hidden, heads, head_dim = config.hidden_size, config.num_attention_heads, config.head_dim
    query, key = heads * head_dim * (2 if gated else 1), config.num_key_value_heads * head_dim
    role = Role.ATTENTION
    biases = (("q_proj", query), ("k_proj", key), ("v_proj", key)) if qkv_bias else ()
    norms = ("q_norm", "k_norm") if qk_norm else ()
    return (
        *weight("self_attn.q_proj.weight", role, (query, hidden), layers),
        *weight("self_attn.k_proj.weight", role, (key, hidden), layers),
        *weight("self_attn.v_proj.weight", role, (key, hidden), layers),
        *weight("self_attn.o_proj.weight", role, (hidden, heads * head_dim), layers),
        *(t for name, width in biases for t in weight(f"self_attn.{name}.bias", role, (width,), layers)),
        *(t for name in norms for t in weight(f"self_attn.{name}.weight", Role.NORM, (head_dim,), layers)),
    )


def gated_delta_net(layers: Layers, *, hidden: int, sizes: LinearAttention, joined_inputs: bool) -> tuple[Tensor, ...]:
    """A linear-attention mixer; with `joined_inputs` QKVZ and BA are one matrix each."""
    keys, values = sizes.num_key_heads * sizes.key_head_dim, sizes.num_value_heads * sizes.value_head_dim
    heads, mixed = sizes.num_value_heads, 2 * keys + values
    inputs = {"in_proj_qkv": mixed, "in_proj_z": values, "in_proj_b": heads, "in_proj_a": heads}
    if joined_inputs:
        inputs = {"in_proj_qkvz": mixed + values, "in_proj_ba": 2 * heads}
    role = Role.LINEAR_ATTENTION
    return (
        *(
            t
            for name, rows in inputs.items()
            for t in weight(f"linear_attn.{name}.weight", role, (rows, hidden), layers)
        ),
        *weight("linear_attn.conv1d.weight", role, (mixed, 1, sizes.conv_kernel_dim), layers),
        *weight("linear_attn.out_proj.weight", role, (hidden, values), layers),
        *weight("linear_attn.A_log", role, (heads,), layers),
        *weight("linear_attn.dt_bias", role, (heads,), layers),
        *weight("linear_attn.norm.weight", Role.NORM, (sizes.value_head_dim,), layers),
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


def qwen_experts(layers: Layers, hidden: int, config: RoutedExpertFields) -> tuple[Tensor, ...]:
    """Router and experts as the Qwen families size them."""
    return routed_experts(
        layers,
        hidden=hidden,
        inner=config.moe_intermediate_size,
        experts=config.num_experts,
        top_k=config.num_experts_per_tok,
    )


def gated_shared_expert(layers: Layers, hidden: int, inner: int) -> tuple[Tensor, ...]:
    """An expert that every token uses, scaled by a gate."""
    role = Role.SHARED_EXPERT
    return (
        *gated_mlp("mlp.shared_expert", role, hidden, inner, layers),
        *weight("mlp.shared_expert_gate.weight", role, (1, hidden), layers),
    )


def _tensor(name: str, role: Role, shape: tuple[int, ...], layers: Layers, *, used: bool) -> Tensor:
    reason = "" if used else (_VECTOR if len(shape) == 1 else _LOOK_UP)
    return Tensor(
        name=name, role=role, shape=shape, layers=layers, copies=1, used_copies=int(used), why_not_active=reason
    )
