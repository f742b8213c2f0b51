import subprocess
import sys

from openrecipes.catalog.families.registry import FAMILIES


def test_each_family_stands_under_its_own_model_type() -> None:
    assert {model_type: family.model_type for model_type, family in FAMILIES.items()} == {
        name: name for name in FAMILIES
    }
    assert len(FAMILIES) == 8
    assert "gpt2" not in FAMILIES


def test_only_the_family_asked_for_is_imported() -> None:
    program = (
        "import sys; from openrecipes.catalog.models import model; model('Qwen3-32B').config; "
        "print(*(f'openrecipes.catalog.families.{name}' in sys.modules for name in ('qwen3', 'glm4_moe')))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False"]
