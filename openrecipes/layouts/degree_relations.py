"""Relations between GPUs, degrees and the model: what must divide what."""

from collections.abc import Iterator

from openrecipes.layouts.relation import Broken, Case, relation


@relation("layout-gpus", "tp x pp x cp divides gpu.count.")
def gpus(case: Case) -> Iterator[Broken]:
    """A world that does not split into model replicas."""
    layout, count = case.layout, case.gpu.count
    group = layout.tp * layout.pp * layout.cp
    if count % group:
        yield Broken(
            key="layout.tp",
            what=f"tp {layout.tp} x pp {layout.pp} x cp {layout.cp} = {group} does not divide {count} GPUs",
            mend="change tp, pp, cp or gpu.count so that it does",
        )


@relation("layout-dp", "dp is gpu.count / (tp x pp x cp).")
def dp(case: Case) -> Iterator[Broken]:
    """A dp that the other degrees contradict."""
    layout, count = case.layout, case.gpu.count
    group = layout.tp * layout.pp * layout.cp
    if count % group == 0 and layout.dp != count // group:
        yield Broken(
            key="layout.dp",
            what=f"{layout.dp}, but {count} GPUs / (tp {layout.tp} x pp {layout.pp} x cp {layout.cp}) "
            f"= {count // group}",
            mend=f"set layout.dp to {count // group}, or change gpu.count, tp, pp or cp",
        )


@relation("layout-expert-gpus", "etp x ep x pp divides gpu.count; the quotient is expert data parallelism.")
def expert_gpus(case: Case) -> Iterator[Broken]:
    """A world that does not split into copies of the experts."""
    layout, count = case.layout, case.gpu.count
    group = layout.etp * layout.ep * layout.pp
    if case.has_experts and count % group:
        yield Broken(
            key="layout.ep",
            what=f"etp {layout.etp} x ep {layout.ep} x pp {layout.pp} = {group} does not divide {count} GPUs",
            mend="change ep, etp, pp or gpu.count so that it does",
        )


@relation("layout-experts", "ep divides the model's routed experts.")
def experts(case: Case) -> Iterator[Broken]:
    """Experts that cannot be dealt out evenly."""
    count = case.shape.num_experts if case.shape else None
    if count is not None and count % case.layout.ep:
        yield Broken(
            key="layout.ep",
            what=f"ep {case.layout.ep} does not divide the model's {count} experts",
            mend=f"set layout.ep to a divisor of {count}",
        )


@relation("layout-dense", "a model without experts has ep 1, etp 1 and no dispatcher.")
def dense(case: Case) -> Iterator[Broken]:
    """Expert settings of a model that has no experts."""
    if case.has_experts:
        return
    for key, value, neutral in (
        ("ep", case.layout.ep, 1),
        ("etp", case.layout.etp, 1),
        ("dispatcher", case.layout.dispatcher, None),
    ):
        if value != neutral:
            yield Broken(
                key=f"layout.{key}",
                what=f"{key} {value}, but the model has no experts",
                mend=f"set layout.{key} to {'null' if neutral is None else neutral}",
            )


@relation("layout-dispatcher", "a model with experts names its token dispatcher.")
def dispatcher(case: Case) -> Iterator[Broken]:
    """Experts without a dispatcher."""
    if case.shape is not None and case.has_experts and case.layout.dispatcher is None:
        yield Broken(
            key="layout.dispatcher",
            what=f"null, but the model's {case.shape.num_experts} experts need a token dispatcher",
            mend="set layout.dispatcher to alltoall or flex",
        )


@relation("layout-flex", "the flex dispatcher needs etp x ep above 1.")
def flex(case: Case) -> Iterator[Broken]:
    """A dispatcher over one rank, which Megatron-LM refuses when it builds the first MoE layer."""
    layout = case.layout
    if layout.dispatcher == "flex" and layout.etp * layout.ep == 1:
        yield Broken(
            key="layout.dispatcher",
            what="flex, but etp x ep is 1: there is nobody to dispatch to",
            mend="set layout.dispatcher to alltoall, or raise ep",
        )


@relation("layout-widths", "tp divides the width of the MLPs, etp that of the routed experts.")
def widths(case: Case) -> Iterator[Broken]:
    """Weights that cannot be cut evenly."""
    if case.shape is None:
        return
    for key, name, width in (
        ("tp", "MLP", case.shape.ffn_hidden_size),
        ("tp", "shared expert", case.shape.shared_expert_ffn_hidden_size),
        ("etp", "expert", case.shape.moe_ffn_hidden_size),
    ):
        degree = case.layout.tp if key == "tp" else case.layout.etp
        if width is not None and width % degree:
            yield Broken(
                key=f"layout.{key}",
                what=f"{key} {degree} does not divide the width {width} of the model's {name}",
                mend=f"set layout.{key} to a divisor of {width}",
            )


@relation("layout-heads", "tp divides the model's query heads.")
def heads(case: Case) -> Iterator[Broken]:
    """Query heads that cannot be split over the tp group."""
    if case.shape is not None and case.shape.num_attention_heads % case.layout.tp:
        count = case.shape.num_attention_heads
        yield Broken(
            key="layout.tp",
            what=f"tp {case.layout.tp} does not divide the model's {count} query heads",
            mend=f"set layout.tp to a divisor of {count}",
        )


@relation("layout-query-groups", "tp divides the model's query groups, or they divide tp.")
def query_groups(case: Case) -> Iterator[Broken]:
    """Key-value heads that can neither be split nor repeated evenly."""
    if case.shape is None:
        return
    groups, tp = case.shape.num_query_groups, case.layout.tp
    if groups % tp and tp % groups:
        yield Broken(
            key="layout.tp",
            what=f"tp {tp} and the model's {groups} query groups do not divide each other",
            mend=f"set layout.tp to a divisor or a multiple of {groups}",
        )


@relation("layout-sequence-parallel", "a model with experts at tp above 1 needs sequence parallelism.")
def sequence_parallel(case: Case) -> Iterator[Broken]:
    """The combination that Megatron-LM refuses at the first MoE layer, minutes after the start."""
    layout = case.layout
    if case.shape is not None and case.has_experts and layout.tp > 1 and not layout.sequence_parallel:
        yield Broken(
            key="layout.sequence_parallel",
            what=f"false, but the model has experts and tp is {layout.tp}: the first MoE layer refuses to train",
            mend="set layout.sequence_parallel to true",
        )


@relation("layout-sequence-parallel-void", "sequence parallelism has an effect only at tp above 1.", illegal=False)
def sequence_parallel_void(case: Case) -> Iterator[Broken]:
    """A switch that the trainer turns off with a warning."""
    if case.layout.sequence_parallel and case.layout.tp == 1:
        yield Broken(
            key="layout.sequence_parallel",
            what="true, but tp is 1, so the trainer turns it off",
            mend="set layout.sequence_parallel to false",
        )


@relation("layout-vocabulary", "tp keeps the vocabulary's padding at zero: 128 x tp divides it.", illegal=False)
def vocabulary(case: Case) -> Iterator[Broken]:
    """Dummy vocabulary rows, which take part in the softmax."""
    if case.shape is None:
        return
    multiple = 128 * case.layout.tp
    size = case.shape.vocab_size
    padded = -(-size // multiple) * multiple
    unavoidable = -(-size // 128) * 128
    if padded != unavoidable:
        yield Broken(
            key="layout.tp",
            what=f"tp {case.layout.tp} pads the vocabulary of {size:,} to {padded:,}: "
            f"{padded - unavoidable:,} dummy rows more than at tp 1 take part in the softmax",
            mend="compare losses only with runs of the same padding, or lower tp",
        )
