"""The one list of layout relations."""

from typing import Final

from openrecipes.layouts import batch_relations, degree_relations, stage_relations
from openrecipes.layouts.relation import Relation

ALL_RELATIONS: Final[tuple[Relation, ...]] = (
    degree_relations.gpus,
    degree_relations.dp,
    degree_relations.expert_gpus,
    degree_relations.experts,
    degree_relations.dense,
    degree_relations.dispatcher,
    degree_relations.flex,
    degree_relations.widths,
    degree_relations.heads,
    degree_relations.query_groups,
    degree_relations.sequence_parallel,
    degree_relations.sequence_parallel_void,
    degree_relations.vocabulary,
    stage_relations.layers,
    stage_relations.vpp,
    stage_relations.split_stages,
    stage_relations.split_layers,
    stage_relations.split_middle,
    stage_relations.split_vpp,
    batch_relations.global_batch,
    batch_relations.vpp_microbatches,
    batch_relations.max_tokens,
    batch_relations.cp_rows,
    batch_relations.cp_linear,
    batch_relations.nodes,
    batch_relations.tp_node,
)
