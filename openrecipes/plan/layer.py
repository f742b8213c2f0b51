"""One decoder layer: what it keeps for the backward pass, and the moments at which it holds the most."""

from dataclasses import dataclass

from openrecipes.catalog.model_parts import LatentAttention, Layer, LinearAttention
from openrecipes.plan.attention import attention_backward, attention_saved, latent_saved
from openrecipes.plan.choices import Choices
from openrecipes.plan.delta_net import delta_backward, delta_saved
from openrecipes.plan.feed_forward import dense_backward, dense_saved, expert_forward, expert_saved
from openrecipes.plan.sizes import Sizes

Parts = dict[str, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class Moment:
    """Everything that a layer holds at one instant, without its input."""

    parts: Parts
    is_backward: bool
    total: int


@dataclass(frozen=True, kw_only=True, slots=True)
class LayerMemory:
    """Bytes of one layer for one microbatch, without its input.

    `saved` is what stays until the backward pass where the layer is not recomputed whole; `keeps_input` says whether
    its input stays with it. `routes` is true where a dispatcher holds on to the layer's last graph.
    """

    saved: Parts
    saved_total: int
    keeps_input: bool
    routes: bool
    moments: tuple[Moment, Moment]


def layer_memory(
    layer: Layer,
    sizes: Sizes,
    choices: Choices,
    *,
    modules: frozenset[str],
    latent: LatentAttention | None,
    linear: LinearAttention | None,
) -> LayerMemory:
    """The memory of one layer; `modules` are recomputed selectively."""
    mixer, mixer_backward = _mixer(layer, sizes, choices, modules=modules, latent=latent, linear=linear)
    whole_mixer = (
        _mixer(layer, sizes, choices, modules=frozenset(), latent=latent, linear=linear)[0] if modules else mixer
    )
    hidden = {"hidden": 2 * sizes.local_tokens * sizes.hidden}
    if layer.mlp == "moe":
        # Computed again in the backward pass, it meets the gradients of its output and of the residual.
        late = {"hidden_gradients": 2 * hidden["hidden"]} if "moe" in modules else {}
        mlp, whole_mlp = expert_saved(sizes, choices, modules), expert_saved(sizes, choices, frozenset())
        largest = _moment({**mixer, **hidden, **whole_mlp, **expert_forward(sizes), **late}, is_backward=False)
    else:
        mlp, whole_mlp = dense_saved(sizes, modules), dense_saved(sizes, frozenset())
        largest = _moment({**mixer, **hidden, **whole_mlp, "ffn_backward": dense_backward(sizes)}, is_backward=True)
    saved = {**mixer, **hidden, **mlp}
    # What is recomputed selectively is there again, beside the inputs that it is computed from.
    again = {key: max(mixer.get(key, 0), value) for key, value in whole_mixer.items()}
    if "core_attn" in modules and layer.mixer == "full_attention":
        again["value"] = mixer["value"] + whole_mixer["value"]
    return LayerMemory(
        saved=saved,
        saved_total=sum(saved.values()),
        keeps_input=layer.mixer != "linear_attention",
        routes=layer.mlp == "moe",
        moments=(largest, _moment({**again, **mixer_backward}, is_backward=True)),
    )


def _mixer(
    layer: Layer,
    sizes: Sizes,
    choices: Choices,
    *,
    modules: frozenset[str],
    latent: LatentAttention | None,
    linear: LinearAttention | None,
) -> tuple[Parts, Parts]:
    """What the mixer keeps, and what its backward pass takes beyond that."""
    if layer.mixer == "linear_attention" and linear is not None:
        return delta_saved(sizes, linear), {"delta_backward": delta_backward(sizes, linear)}
    backward = {"attention_backward": attention_backward(sizes, choices)}
    if layer.mixer == "latent_attention" and latent is not None:
        return latent_saved(sizes, latent, modules), backward
    return attention_saved(sizes, choices, modules), backward


def _moment(parts: Parts, *, is_backward: bool) -> Moment:
    return Moment(parts=parts, is_backward=is_backward, total=sum(parts.values()))
