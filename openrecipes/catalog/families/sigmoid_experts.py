"""What DeepSeek-V3 and GLM-4.5 share: a few dense layers, then experts chosen by sigmoid beside shared ones."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from openrecipes.catalog.families import blocks, fields, flags
from openrecipes.catalog.families.fields import ExpertCount, TextConfig, Width
from openrecipes.catalog.model_parts import ModelArgument
from openrecipes.catalog.tensors import Role, Tensor


class SigmoidExpertConfig(TextConfig):
    """Routed and shared experts after the first dense layers."""

    intermediate_size: Width = Field(description="Inner width of the MLP of the dense layers.")
    first_k_dense_replace: Annotated[int, Field(ge=0)] = Field(description="Dense layers at the start.")
    n_routed_experts: ExpertCount = Field(description="Routed experts of a layer.")
    n_shared_experts: Annotated[int, Field(ge=0, le=1000)] = Field(description="Experts that every token uses.")
    num_experts_per_tok: ExpertCount = Field(description="Routed experts that one token uses.")
    moe_intermediate_size: Width = Field(description="Inner width of one expert.")
    routed_scaling_factor: float = Field(gt=0, lt=1000, description="Factor on the routed experts' sum.")
    n_group: ExpertCount = Field(description="Groups that the experts form.")
    topk_group: ExpertCount = Field(description="Groups from which one token's experts come.")

    @model_validator(mode="after")
    def _experts_agree(self) -> Self:
        fields.require_at_most(self, "num_experts_per_tok", "n_routed_experts")
        fields.require_at_most(self, "topk_group", "n_group")
        fields.require_divides(self, "n_routed_experts", "n_group")
        fields.require_below(self, "first_k_dense_replace", "num_hidden_layers")
        return self

    @property
    def dense_layers(self) -> tuple[int, ...]:
        """The layers without experts, from 0."""
        return self.layer_numbers[: self.first_k_dense_replace]

    @property
    def sparse_layers(self) -> tuple[int, ...]:
        """The layers with experts, from 0."""
        return self.layer_numbers[self.first_k_dense_replace :]

    @property
    def shared_width(self) -> int:
        """Inner width of all shared experts together, which are stored as one."""
        return self.n_shared_experts * self.moe_intermediate_size


def mlps(config: SigmoidExpertConfig) -> tuple[Tensor, ...]:
    """Dense MLPs, routed and shared experts; the router's bias is a buffer, not a parameter."""
    hidden, sparse = config.hidden_size, config.sparse_layers
    shared = sparse if config.n_shared_experts else ()
    return (
        *blocks.gated_mlp("mlp", Role.DENSE_MLP, hidden, config.intermediate_size, config.dense_layers),
        *blocks.routed_experts(
            sparse,
            hidden=hidden,
            inner=config.moe_intermediate_size,
            experts=config.n_routed_experts,
            top_k=config.num_experts_per_tok,
        ),
        *blocks.gated_mlp("mlp.shared_experts", Role.SHARED_EXPERT, hidden, config.shared_width, shared),
    )


def arguments(config: SigmoidExpertConfig) -> tuple[ModelArgument, ...]:
    """Experts, router and which layers have them."""
    width = ModelArgument(
        flag="--moe-shared-expert-intermediate-size",
        values=(str(config.shared_width),),
        origin="config.json:n_shared_experts x moe_intermediate_size",
    )
    groups = (
        flags.field("--moe-router-num-groups", config.n_group, "n_group"),
        flags.field("--moe-router-group-topk", config.topk_group, "topk_group"),
    )
    return (
        flags.field("--num-experts", config.n_routed_experts, "n_routed_experts"),
        flags.field("--moe-router-topk", config.num_experts_per_tok, "num_experts_per_tok"),
        flags.field("--moe-ffn-hidden-size", config.moe_intermediate_size, "moe_intermediate_size"),
        *((width,) if config.n_shared_experts else ()),
        flags.moe_layers(config.sparse_layers, config.num_hidden_layers, "config.json:first_k_dense_replace"),
        *(groups if config.n_group > 1 else ()),
        *flags.sigmoid_router(config.routed_scaling_factor),
    )
