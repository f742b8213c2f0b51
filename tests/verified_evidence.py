"""What makes the correctness evidence of the first published recipe recomputable: dotted keys and their values."""

import datetime
from collections.abc import Mapping
from typing import Any, Final

RECOMPUTABLE: Final[Mapping[str, Any]] = {
    "result.log_sha256": "1" * 64,
    "correctness.configuration_evidence": {
        "reference": "qwen3.5-397b-a17b/h200/attune-reference",
        "reference_sha256": "2" * 64,
        "candidate_sha256": "3" * 64,
        "classes": "argument-classes/1",
        "tolerated": ("--use-precision-aware-optimizer",),
        "components": ("precision-aware-adam",),
    },
    "correctness.convergence.rule": "megatron-bridge/pipeline",
    "correctness.convergence.points_scored": 16,
    "correctness.convergence.outliers": 0,
    "correctness.convergence.strict": "pass",
    "correctness.convergence.candidate_log_sha256": "4" * 64,
    "correctness.convergence.reference_log_sha256": "5" * 64,
    "correctness.component_tests": (
        {
            "test": "precision-aware Adam on GPU (TE FusedAdam) against an FP64 reference",
            "shape": "one Qwen3.5-397B-A17B layer",
            "gpu": "H200",
            "date": datetime.date(2026, 10, 11),
            "result": "pass",
            "detail": "update: error 5.12e-7; all 17 negative controls fail",
            "component": "precision-aware-adam",
            "tier": "transformer-engine",
        },
    ),
}
