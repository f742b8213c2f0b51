"""What Qwen3.5 and Qwen3-Next share: gated delta net between gated full-attention layers."""

from openrecipes.catalog.families import blocks, flags
from openrecipes.catalog.families.fields import GatedDeltaNetConfig
from openrecipes.catalog.model_parts import LinearAttention, ModelArgument
from openrecipes.catalog.tensors import Tensor


def mixers(config: GatedDeltaNetConfig, *, joined_inputs: bool = False) -> tuple[Tensor, ...]:
    """The tensors of both kinds of mixer; `joined_inputs` as Qwen3-Next stores the linear ones."""
    return (
        *blocks.gated_delta_net(
            config.layers_of("linear_attention"),
            hidden=config.hidden_size,
            sizes=linear_attention(config),
            joined_inputs=joined_inputs,
        ),
        *blocks.grouped_query_attention(config.layers_of("full_attention"), config, gated=True, qk_norm=True),
    )


def linear_attention(config: GatedDeltaNetConfig) -> LinearAttention:
    """Sizes of the linear-attention mixer."""
    return LinearAttention(
        num_key_heads=config.linear_num_key_heads,
        key_head_dim=config.linear_key_head_dim,
        num_value_heads=config.linear_num_value_heads,
        value_head_dim=config.linear_value_head_dim,
        conv_kernel_dim=config.linear_conv_kernel_dim,
    )


def arguments(
    config: GatedDeltaNetConfig, spec: tuple[str, str], ffn_hidden_size: ModelArgument
) -> tuple[ModelArgument, ...]:
    """The arguments up to the experts; slime's spec reads linear attention from config.json itself."""
    return (
        flags.architecture("--spec", *spec, why="slime's layers; linear attention is read from config.json"),
        *flags.sizes(config),
        ffn_hidden_size,
        *flags.grouped_query(config),
        flags.architecture("--qk-layernorm", why="queries and keys are normalised"),
        flags.architecture("--attention-output-gate", why="a gate scales the attention output"),
        flags.convention("--use-gated-attention", why="as its model scripts pass it; read nowhere"),
        *flags.norms(config, zero_centred=True),
        *flags.rotary(config.rope_parameters),
        *flags.ends(config),
    )
