from openrecipes.catalog.arguments import argument_catalogue, stack_ids
from openrecipes.correctness.argument_classes import argument_classes
from openrecipes.correctness.component.examination import component_names

COUNTS = {"neutral": 357, "tolerated": 47, "workload": 316, "forbidden": 137}


def test_every_argument_of_every_known_parser_has_a_line_and_no_line_is_of_another() -> None:
    flags = {argument.flags[0] for stack in stack_ids() for argument in argument_catalogue(stack).arguments}
    assert len(flags) > 800
    assert set(argument_classes().flags) == flags


def test_no_flag_stands_in_two_sections() -> None:
    table = argument_classes()
    assert sum(map(len, table.sections.values())) == len(table.flags)


def test_lines_name_components_and_rules_that_there_are() -> None:
    table = argument_classes()
    lines = [*table.flags.values(), *table.attributes.values(), *table.environment.values()]
    named = {line.component for line in lines if line.component}
    assert named <= set(component_names())
    assert {"precision-aware-adam", "moe-permute-fusion", "router", "cross-entropy", "gated-delta-net"} <= named
    assert all(line.listed == "tolerated" for line in lines if line.component or line.only)
    assert all(line.listed == "workload" for line in lines if line.place)


def test_the_counts_of_the_classes_are_those_that_were_reviewed() -> None:
    counts: dict[str, int] = {}
    for line in argument_classes().flags.values():
        counts[line.listed] = counts.get(line.listed, 0) + 1
    assert counts == COUNTS


def test_a_variable_is_found_by_its_name_or_its_beginning() -> None:
    table = argument_classes()
    for name, listed in (
        ("NCCL_ALGO", "neutral"),
        ("NVTE_FLASH_ATTN", "tolerated"),
        ("NVTE_FP8_DPA_BWD", "forbidden"),
        ("LD_PRELOAD", "forbidden"),
    ):
        found = table.of_environment(name)
        assert found is not None
        assert found.listed == listed
    assert table.of_environment("MY_NCCL_ALGO") is None
    assert table.of_environment("NVTE_SOMETHING_NEW") is None


def test_what_changes_the_function_is_forbidden_and_what_defines_it_is_workload() -> None:
    table = argument_classes()
    for flag, listed in (
        ("--tensor-model-parallel-size", "neutral"),
        ("--use-precision-aware-optimizer", "tolerated"),
        ("--exp-avg-dtype", "forbidden"),
        ("--moe-expert-capacity-factor", "forbidden"),
        ("--use-stateless-adam", "forbidden"),
        ("--custom-loss-function-path", "forbidden"),
        ("--moe-router-topk", "workload"),
        ("--lr", "workload"),
        ("--rollout-temperature", "workload"),
    ):
        assert table.flags[flag].listed == listed
