from pathlib import Path

import pytest
from made_runs import slime_log
from varied_recipes import published

from openrecipes.compare.causes import differences
from openrecipes.compare.printed_stack import printed_stack
from openrecipes.compare.side import published_side, run_side

SAID = """\
(Actor pid=7) n1:7:7 [0] NCCL INFO NET/OFI Initializing aws-ofi-nccl 1.16.2
(Actor pid=7) n1:7:7 [0] NCCL INFO NET/OFI Using Libfabric version 2.1
(Actor pid=7) NCCL version 2.28.9+cuda12.9
(Actor pid=8) NCCL version 2.27.0+cuda12.9
"""


def test_versions_are_taken_as_they_were_printed_first(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text(SAID + slime_log())
    assert printed_stack(str(log)) == {
        "nccl": "2.28.9 (CUDA 12.9 build)",
        "aws_ofi_nccl": "1.16.2",
        "libfabric": "2.1",
    }


def test_a_log_that_prints_none_says_nothing(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text(slime_log())
    assert printed_stack(str(log)) == {}


@pytest.mark.parametrize(("release", "status"), [("2.28.9", "tolerated"), ("2.27.3", "different")])
def test_a_bare_logs_nccl_is_held_against_the_recipes(tmp_path: Path, release: str, status: str) -> None:
    log = tmp_path / "train.log"
    log.write_text(f"NCCL version {release}+cuda12.9\n" + slime_log())
    found = differences(published_side(published(), "a"), run_side(str(log), published()))
    assert [one.status for one in found if one.name == "nccl"] == [status]


def test_the_slowest_of_several_ranks_logs_is_named(tmp_path: Path) -> None:
    for rank, factor in enumerate((1.0, 1.0, 1.2)):
        (tmp_path / f"rank{rank}.log").write_text(slime_log([15.0 * factor] * 14))
    side = run_side(str(tmp_path), published())
    assert side.slowest is not None
    who, time_s, over = side.slowest
    assert (who, time_s) == ("rank2.log", pytest.approx(18.0))
    assert over == pytest.approx(0.2)
