import dataclasses

from openrecipes.recipe.model import Stack
from openrecipes.stack.block import StackBlock, stack_block
from openrecipes.stack.captured import Captured

BARE = {
    "schema_version": 1,
    "captured_unix_s": 1791676800.0,
    "host": "n1",
    "system": {"name": "Ubuntu 24.04", "kernel": "Linux 6.8", "machine": "x86_64"},
    "cpu": {"name": "Xeon", "count": 192, "available": 192},
    "memory_bytes": 2**41,
    "python": "3.12.3",
    "gpus": [],
    "driver": None,
    "cuda_driver": None,
    "nvlink_count": 0,
    "fabric": [],
    "installed": {},
    "loaded": {},
    "checkouts": {"slime": None, "megatron": None},
    "variables": {},
    "errors": {},
}
CARD = {
    "index": 0,
    "name": "NVIDIA H200",
    "memory_mib": 143771,
    "driver": "580.159.04",
    "vbios": "96",
    "power_limit_w": 700,
    "max_sm_clock_mhz": 1980,
}
TORCH = {"cuda": "12.9", "hip": None, "git": None, "cudnn": 91900, "nccl": "2.28.9", "threads": 1}
FULL = BARE | {
    "gpus": [CARD] * 8,
    "driver": "580.159.04",
    "fabric": [{"device": f"rdmap{i}", "driver": "efa", "rate": "200 Gb/sec (4X HDR)"} for i in range(16)],
    "installed": {"slime": "0.3.0"},
    "loaded": {
        "torch": {"version": "2.11.0+cu129", "file": "torch/__init__.py", "details": TORCH},
        "transformer_engine": {"version": "2.10.0"},
        "megatron.core": {"version": "0.16.0rc0"},
        "deep_ep": {"version": "1.2.1"},
        "transformers": {"version": "5.2.0"},
        "slime": {"version": None},
    },
    "checkouts": {
        "slime": {"directory": "/root/slime", "commit": "a897e1f4" + "0" * 32, "changed": False},
        "megatron": {"directory": "/root/Megatron-LM", "commit": "1dcf0daf" + "0" * 32, "changed": True},
    },
}


def test_the_block_has_exactly_the_recipes_stack_fields():
    assert [field.name for field in dataclasses.fields(StackBlock)] == list(Stack.model_fields)


def test_a_training_image_reads_like_a_published_stack():
    block = stack_block(Captured.of(FULL))
    Stack.model_validate(dataclasses.asdict(block))
    assert block.framework == "slime 0.3.0: commit a897e1f4"
    assert block.megatron_lm == "commit 1dcf0daf with local changes (megatron-core 0.16.0rc0)"
    assert block.pytorch == "2.11.0 (CUDA 12.9 build)"
    assert (block.cuda, block.nccl, block.deepep) == ("12.9", "2.28.9", "1.2.1")
    assert block.network == "8 GPUs per node, EFA, 3.2 Tb/s RDMA per node"
    assert block.source == "captured by openrecipes env on 2026-10-11: versions as loaded"


def test_a_bare_machine_states_nothing_that_is_not_there():
    block = dataclasses.asdict(stack_block(Captured.of(BARE)))
    Stack.model_validate(block)
    assert {name for name, value in block.items() if value is not None} == {"python", "source", "os", "kernel"}


def test_a_gpu_machine_without_rdma_says_so():
    assert stack_block(Captured.of(BARE | {"gpus": [CARD]})).network == "1 GPU per node, no RDMA devices"


def test_a_cpu_build_of_pytorch_is_named_as_one():
    torch = {"version": "2.13.0+cpu", "details": TORCH | {"cuda": None, "nccl": None}}
    assert stack_block(Captured.of(BARE | {"loaded": {"torch": torch}})).pytorch == "2.13.0 (CPU build)"


def test_what_is_captured_beside_versions_reads_in_words():
    card = CARD | {"max_memory_clock_mhz": 3201, "ecc_mode": "Enabled", "mig_mode": "Disabled", "nvlinks": 18}
    software = {
        "efa_driver": "2.17.2g",
        "efa_installer": "1.43.1",
        "libfabric": "2.1.0amzn5.0",
        "aws_ofi_nccl": "1.16.2",
    }
    torch = FULL["loaded"]["torch"] | {"details": TORCH | {"nccl_printed": "2.28.9+cuda12.9"}}
    document = FULL | {
        "gpus": [card] * 8,
        "network_software": software,
        "image": "a@sha256:0",
        "loaded": FULL["loaded"] | {"torch": torch, "flash_attn": {"version": "2.8.3"}},
    }
    block = stack_block(Captured.of(document))
    assert (
        block.gpu_settings == "700 W, SM up to 1980 MHz, memory up to 3201 MHz, ECC Enabled, MIG Disabled, 18 NVLinks"
    )
    assert (block.nccl, block.cudnn, block.flash_attention) == ("2.28.9 (CUDA 12.9 build)", "9.19.0", "2.8.3")
    assert (block.efa, block.libfabric) == ("driver 2.17.2g, installer 1.43.1", "2.1.0amzn5.0")
    assert (block.aws_ofi_nccl, block.image, block.os) == ("1.16.2", "a@sha256:0", "Ubuntu 24.04")


def test_gpus_that_are_not_alike_show_each_value():
    cards = [CARD, CARD | {"power_limit_w": 500}]
    assert stack_block(Captured.of(BARE | {"gpus": cards})).gpu_settings == "700 and 500 W, SM up to 1980 MHz"


def test_local_changes_are_told_apart_by_their_hash():
    megatron = FULL["checkouts"]["megatron"] | {"diff_sha256": "ab" * 32}
    block = stack_block(Captured.of(FULL | {"checkouts": FULL["checkouts"] | {"megatron": megatron}}))
    assert block.megatron_lm == "commit 1dcf0daf with local changes (diff abababab) (megatron-core 0.16.0rc0)"
