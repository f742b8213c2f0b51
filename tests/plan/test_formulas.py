from measured_memory import measured_ranks

from openrecipes.plan.formulas import formulas, sections
from openrecipes.plan.formulas_page import END, START, formulas_tables, with_formulas
from openrecipes.plan.planner import Planner

CODE = ("Megatron-LM 1dcf0daf", "slime a897e1f4", "Transformer Engine 2.10.0", "flash-linear-attention 0.4.1")


def test_every_formula_is_used_by_some_plan():
    """Nothing is explained that no plan counts; what no plan explains would be a KeyError elsewhere."""
    used = {term.formula for rank in measured_ranks() for term in planner(rank).terms(rank.placement, rank.planned())}
    unused = {key for key, formula in formulas().items() if formula.formula not in used}
    # These are never part of the largest instant of the measured runs; docs/plan.md says so.
    assert unused == {"embedding_gradient", "optimizer_step"}


def planner(rank) -> Planner:
    return Planner(counts=rank.counts, choices=rank.choices, imbalance=rank.imbalance or 1.0)


def test_a_formula_names_where_it_was_read():
    for formula in formulas().values():
        assert any(
            name in formula.source
            for name in (
                "Megatron-LM 1dcf0daf",
                "slime a897e1f4",
                "Transformer Engine 2.10.0",
                "flash-linear-attention",
            )
        )


def test_the_page_s_tables_have_every_term_once():
    tables = formulas_tables()
    for section in sections().values():
        for formula in section.values():
            assert tables.count(f"| {formula.name} | {formula.formula} |") == 1
    assert with_formulas(f"a\n{START}old\n{END}b\n") == f"a\n{START}\n{tables}\n{END}b\n"
