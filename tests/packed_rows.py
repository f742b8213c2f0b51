"""Small packed rows in the form of `openrecipes data build`, and the launch scripts as modules."""

import importlib.util
import random
import struct
from pathlib import Path
from types import ModuleType

LAUNCH = Path(__file__).resolve().parent.parent / "launch"

Pair = tuple[bytes, bytes]

# A config.json with both kinds of attention layer and experts, small enough to train within a test.
TINY_MODEL = {
    "model_type": "qwen3_5_moe_text",
    "vocab_size": 300,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "layer_types": ["linear_attention", "full_attention"],
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 16,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 2,
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 8,
    "moe_intermediate_size": 16,
    "shared_expert_intermediate_size": 16,
    "num_experts": 4,
    "num_experts_per_tok": 2,
}


def packed_rows(count: int, row_tokens: int, vocabulary: int, seed: int = 0) -> list[Pair]:
    """Token ids as little-endian int32 and a mask byte a token, about two thirds of them targets.

    Small ids are far more frequent than large ones, so that there is something to learn.
    """
    draw = random.Random(seed)
    rows = []
    for _ in range(count):
        ids = [min(int(vocabulary * draw.random() ** 4), vocabulary - 1) for _ in range(row_tokens)]
        mask = [int(draw.random() < 0.67) for _ in ids]
        mask[row_tokens // 2] = 1
        rows.append((struct.pack(f"<{row_tokens}i", *ids), bytes(mask)))
    return rows


def token_ids(tokens: bytes) -> list[int]:
    return list(struct.unpack(f"<{len(tokens) // 4}i", tokens))


def write_rows(path: Path, rows: list[Pair], *, rows_per_group: int = 7) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    messages = [[{"role": "user", "content": "packed"}]] * len(rows)
    metadata = [{"tokens": tokens, "loss_mask": mask} for tokens, mask in rows]
    pq.write_table(pa.table({"messages": messages, "metadata": metadata}), path, row_group_size=rows_per_group)
    return path


def launch_script(name: str) -> ModuleType:
    """The script in `launch/`, freshly imported: it is a file that runs elsewhere, not part of a package."""
    spec = importlib.util.spec_from_file_location(name, LAUNCH / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
