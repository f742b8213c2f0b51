import pytest
from varied_recipes import published

from openrecipes.compare.drift import ABSENT, drift, stated_stack
from openrecipes.recipe.model import Stack

JUDGED = [
    ("pytorch", "2.11.0 (CUDA 12.9 build)", "2.11.0 (CUDA 12.9 build)", "same"),
    ("pytorch", "2.11.0 (CUDA 12.9 build)", "2.11.0+cu129", "tolerated"),
    ("pytorch", "2.11.0 (CUDA 12.9 build)", "2.11.0 (CUDA 13.0 build)", "different"),
    ("pytorch", "2.11.0 (CUDA 12.9 build)", "2.10.0 (CUDA 12.9 build)", "different"),
    ("pytorch", "2.11.0", "2.11.0rc1", "different"),
    ("nccl", "2.28.9 (CUDA 12.9 build; printed by the measured run)", "2.28.9", "tolerated"),
    ("nccl", "2.28.9", "2.28.8", "different"),
    ("cuda", "12.9", "12.9.86", "same"),
    ("cuda", "12.9", "13.0", "different"),
    ("python", "3.12", "3.12.11", "same"),
    ("python", "3.12.3", "3.12.11", "tolerated"),
    ("python", "3.12", "3.11.7", "different"),
    ("driver", "570.86.15", "570.86.15", "same"),
    ("driver", "570.86.15", "570.133.20", "tolerated"),
    ("driver", "570.86.15", "580.65.06", "different"),
    ("framework", "slime 0.3.0: THUDM/slime a897e1f4", "slime: commit a897e1f", "tolerated"),
    ("framework", "slime 0.3.0: THUDM/slime a897e1f4", "slime: commit b897e1f4", "different"),
    ("framework", "slime: commit a897e1f4", "slime: commit a897e1f4 with local changes", "different"),
    ("framework", "slime: commit a897e1f4", "slime 0.3.0", "unknown"),
    ("megatron_lm", "commit 1dcf0daf, with slime's patch", "commit 1dcf0daf with local changes", "tolerated"),
    ("megatron_lm", "commit 1dcf0daf with local changes (diff aaaa0000)", "1dcf0daf, patched", "tolerated"),
    (
        "megatron_lm",
        "commit 1dcf0daf with local changes (diff aaaa0000)",
        "commit 1dcf0daf with local changes (diff bbbb0000)",
        "different",
    ),
    ("transformer_engine", "2.10.0", "2.10.0+769ed778", "tolerated"),
    ("deepep", "1.2.1", None, "unknown"),
    ("deepep", None, "1.2.1", "unknown"),
    ("deepep", "1.2.1", ABSENT, "different"),
    ("deepep", ABSENT, "1.2.1", "different"),
    ("deepep", None, ABSENT, None),
    ("deepep", ABSENT, None, None),
    ("os", "Ubuntu 24.04.1 LTS", "Ubuntu 24.04.3 LTS", "tolerated"),
    ("os", "Ubuntu 24.04.1 LTS", "Debian GNU/Linux 12", "different"),
    ("kernel", "Linux 6.8.0-1021-aws", "Linux 6.8.0-1033-aws", "tolerated"),
    ("kernel", "Linux 6.8.0-1021-aws", "Linux 5.15.0-1033-aws", "different"),
    ("gpu_settings", "700 W, ECC Enabled, 18 NVLinks", "700 W, ECC Enabled", "tolerated"),
    ("gpu_settings", "700 W, ECC Enabled", "500 W, ECC Enabled", "different"),
    ("gpu_settings", "700 W, ECC Enabled", "700 W, ECC Disabled", "different"),
    ("image", "a@sha256:" + "0" * 64, "b@sha256:" + "0" * 64, "same"),
    ("image", "a@sha256:" + "0" * 64, "a@sha256:" + "1" * 64, "different"),
    ("image", "a:latest", "a:newest", "unknown"),
    ("libfabric", "2.1.0amzn5.0", "2.2.0amzn1.0", "different"),
    ("network", "8 GPUs per node, EFA, 3.2 Tb/s RDMA per node", "8 GPUs per node, EFA, 3200 Gb/s RDMA", "tolerated"),
    ("network", "8 GPUs per node, EFA, 3.2 Tb/s RDMA per node", "8 GPUs per node, InfiniBand, 3.2 Tb/s", "different"),
    ("network", "fast", "faster", "unknown"),
]


@pytest.mark.parametrize(("name", "stated", "found", "status"), JUDGED)
def test_a_field_is_judged_by_what_its_values_say(name: str, stated: str, found: str, status: str | None) -> None:
    fields = drift({name: stated}, {name: found})
    if status is None:
        assert fields == ()
        return
    (one,) = fields
    assert (one.field, one.status) == (name, status)
    assert one.why or status == "same"


def test_a_field_that_neither_side_has_is_left_out() -> None:
    assert drift({"deepep": None}, {"deepep": None}) == ()


def test_a_stack_does_not_drift_from_itself_and_fields_come_in_the_recipes_order() -> None:
    stack = stated_stack(published().stack)
    found = drift(stack, stack)
    assert {one.status for one in found} == {"same"}
    names = [one.field for one in found]
    assert names == [name for name in Stack.model_fields if name in names]
    assert "source" not in names
    assert len(names) == 9
