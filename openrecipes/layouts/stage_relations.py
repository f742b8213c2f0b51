"""Relations between pipeline stages and the model's layers."""

from collections.abc import Iterator

from openrecipes.layouts.relation import Broken, Case, relation


@relation("layout-layers", "pp x vpp divides the model's layers, unless layer_split says otherwise.")
def layers(case: Case) -> Iterator[Broken]:
    """Layers that cannot be dealt out evenly."""
    layout = case.layout
    if case.shape is None or layout.layer_split is not None:
        return
    count, chunks = len(case.shape.layers), layout.pp * layout.vpp
    if count % chunks:
        words = f"pp {layout.pp}" + (f" x vpp {layout.vpp} = {chunks}" if layout.vpp > 1 else "")
        yield Broken(
            key="layout.pp",
            what=f"{words} does not divide the model's {count} layers",
            mend=f"set layout.pp to a divisor of {count}, or write the layers of each stage into layout.layer_split",
        )


@relation("layout-vpp", "vpp above 1 needs pp above 1.")
def vpp(case: Case) -> Iterator[Broken]:
    """Interleaving without a pipeline."""
    if case.layout.vpp > 1 and case.layout.pp == 1:
        yield Broken(
            key="layout.vpp",
            what=f"vpp {case.layout.vpp}, but pp is 1: there are no stages to interleave",
            mend="set layout.vpp to 1, or raise pp",
        )


@relation("layout-split-stages", "layer_split has one number a stage.")
def split_stages(case: Case) -> Iterator[Broken]:
    """A split over another number of stages."""
    split, pp = case.layout.layer_split, case.layout.pp
    if split is not None and len(split) != pp:
        yield Broken(
            key="layout.layer_split",
            what=f"{_list(split)} names {_stages(len(split))}, but pp is {pp}",
            mend=f"write {pp} numbers, one a stage, or null for an even split",
        )


@relation("layout-split-layers", "layer_split sums to the model's layers.")
def split_layers(case: Case) -> Iterator[Broken]:
    """A split of another number of layers."""
    split = case.layout.layer_split
    if case.shape is not None and split is not None and sum(split) != len(case.shape.layers):
        yield Broken(
            key="layout.layer_split",
            what=f"{_list(split)} sums to {sum(split)}, but the model has {len(case.shape.layers)} layers",
            mend=f"make it sum to {len(case.shape.layers)}",
        )


@relation("layout-split-middle", "in layer_split only the first and the last stage differ from the others.")
def split_middle(case: Case) -> Iterator[Broken]:
    """A split that the trainer's flags for the first and the last stage cannot say."""
    split = case.layout.layer_split
    if split is not None and len(set(split[1:-1])) > 1:
        yield Broken(
            key="layout.layer_split",
            what=f"{_list(split)}: the stages between the first and the last differ",
            mend="give them equal layers; the trainer can set only the first and the last apart",
        )


@relation("layout-split-vpp", "with vpp above 1, vpp divides the layers of each stage in layer_split.")
def split_vpp(case: Case) -> Iterator[Broken]:
    """Stages that cannot be cut into chunks."""
    split, vpp_ = case.layout.layer_split, case.layout.vpp
    odd = [count for count in split or () if count % vpp_]
    if split is not None and odd:
        yield Broken(
            key="layout.layer_split",
            what=f"{_list(split)}: vpp {vpp_} does not divide the {odd[0]} layers of a stage",
            mend=f"make each number a multiple of {vpp_}, or lower vpp",
        )


def _list(split: tuple[int, ...]) -> str:
    shown = ", ".join(str(count) for count in split[:12])
    return f"[{shown}{', …' if len(split) > 12 else ''}]"


def _stages(count: int) -> str:
    return f"{count} stage{'' if count == 1 else 's'}"
