"""The adapters of Megatron-LM's functions, on its real code: they need no GPU, only the checkouts."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import warnings
warnings.simplefilter("ignore")
from megatron.core.transformer.moe import moe_utils
# Defined, but None, where Transformer Engine 2.10 is installed; without it the name is not there at all.
moe_utils.te_general_gemm = getattr(moe_utils, "te_general_gemm", None)
from openrecipes.correctness.component import cross_entropy, router
from openrecipes.correctness.component.frame import Bench, Tier
from openrecipes.correctness.component.mistake import controls_of
from openrecipes.correctness.component.subject import Degrees, subject_of_model
subject, bench = subject_of_model("Qwen3.5-397B-A17B", Degrees(tp=4)), Bench(tier=Tier.TORCH_CPU, device="cpu")
for module, mistakes in ((cross_entropy, cross_entropy.mistakes), (router, lambda case: router.mistakes())):
    run, case = module._implementation(Tier.MEGATRON_CORE), module._case(subject, bench)
    judged = module.judge(case, run(case))
    controls = controls_of(mistakes(case), case, run, module.judge)
    print(len(judged), [one for one in judged if not one.passed], [one.name for one in controls if not one.caught])
"""


@pytest.mark.checkout("MEGATRON_DIR", "SLIME_DIR")
@pytest.mark.tool("module:torch")
def test_megatrons_own_loss_and_router_pass_and_their_mistakes_are_caught():
    folders = (os.environ["MEGATRON_DIR"], os.environ["SLIME_DIR"])  # Megatron as slime patches it imports slime
    paths = os.pathsep.join((*folders, *filter(None, [os.environ.get("PYTHONPATH")])))
    environment = {**os.environ, "PYTHONPATH": paths, "TORCHDYNAMO_DISABLE": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=environment, check=False)
    assert done.stdout.splitlines() == ["5 [] []", "8 [] []"], done.stderr[-2000:]
