"""A torch_dist checkpoint of random weights: slime's own converter, without the loading of Hugging Face weights.

    torchrun --nproc-per-node 1 random_checkpoint.py MODEL_ARGS --hf-checkpoint FOLDER --save FOLDER

slime can start only from a checkpoint folder, so a run from random weights needs one too. Megatron initialises
the model (--seed), and the converter saves it as it is. The folder of --hf-checkpoint needs config.json and a
tokenizer, no weights. PYTHONPATH and SLIME_DIR name the checkouts, as in a launch.

Written against THUDM/slime a897e1f4: tools/convert_hf_to_torch_dist.py takes its weights through mbridge alone.
"""

import os
import runpy
import sys
from pathlib import Path
from typing import Any

import mbridge


class KeepInitialWeights:
    """Stands where the converter expects a bridge, and loads nothing."""

    @staticmethod
    def from_pretrained(*_args: Any, **_kwargs: Any) -> "KeepInitialWeights":
        """A bridge for any model."""
        return KeepInitialWeights()

    def load_weights(self, *_args: Any, **_kwargs: Any) -> None:
        """Leaves the weights as Megatron initialised them."""
        print("random weights are kept: nothing is loaded", flush=True)


def main() -> None:
    """Runs the converter on our arguments."""
    mbridge.AutoBridge = KeepInitialWeights
    converter = Path(os.environ["SLIME_DIR"]) / "tools" / "convert_hf_to_torch_dist.py"
    sys.argv[0] = str(converter)
    runpy.run_path(str(converter), run_name="__main__")


if __name__ == "__main__":
    main()
