from typing import Any

from good_recipes import FILE, UNMEASURED, good, text_with
from hypothesis import assume, given, settings
from varied_recipes import layouts

from openrecipes.check.report import check_text
from openrecipes.figures.window import skip_quarter

GOOD = good()


@settings(max_examples=40)
@given(layouts())
def test_a_legal_layout_with_its_own_words_and_command_has_no_error(changes: dict[str, Any]) -> None:
    assume(changes["layout.dispatcher"] != "flex" or changes["layout.ep"] > 1)
    window = {"result.window": list(skip_quarter(changes["result.steps_per_run"])), "result.window_tokens": None}
    rows = {"workload.dataset.build.rows": changes["result.steps_per_run"] * changes["workload.global_batch"]}
    text = text_with(GOOD, {**UNMEASURED, **changes, **window, **rows})
    found = check_text(text, FILE)
    assert [str(problem) for problem in found if problem.severity == "error"] == []
    assert {problem.rule for problem in found} <= {"layout-cp-linear"}
