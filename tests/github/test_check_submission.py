"""The script that the workflow runs, on checkouts that submit recipes."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from made_bundles import RECIPES, made_run

from openrecipes.evidence.bundle import bundle

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / ".github/check_submission.py"
NAME = "qwen3.5-moe-small/h200/openrecipes-tp2-ep2"
DRAFT = ROOT / "recipes/qwen3-32b/h200/openrecipes-tp2-pp4.yaml"


@pytest.fixture(scope="module")
def clusters(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clusters")
    shutil.copy(ROOT / "launch/clusters/slurm-bare.yaml", folder)
    return folder


class Checkout:
    """A git repository with one commit on `main`, and a branch to submit on."""

    def __init__(self, root: Path, clusters: Path) -> None:
        self.root, self._clusters = root, clusters
        root.mkdir()
        self.git("init", "-q", "-b", "main")
        self.git("commit", "-q", "--allow-empty", "-m", "base")
        self.git("checkout", "-q", "-b", "submission")

    def git(self, *words: str) -> None:
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
        subprocess.run(["git", "-C", str(self.root), *identity, *words], check=True)

    def put(self, path: str, content: bytes) -> Path:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        return target

    def check(self) -> subprocess.CompletedProcess[str]:
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "submission")
        command = [sys.executable, "-P", SCRIPT, self.root, "--base", "main", "--clusters", self._clusters]
        return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)


@pytest.fixture
def checkout(tmp_path: Path, clusters: Path) -> Checkout:
    return Checkout(tmp_path / "checkout", clusters)


def test_a_measured_recipe_with_its_bundle_and_a_draft_pass(checkout: Checkout, tmp_path: Path) -> None:
    run, claim = made_run(tmp_path / "run")
    made = bundle(claim, [run.root], tmp_path / "b.tar.gz").file
    checkout.put(f"recipes/{NAME}.yaml", run.recipe_with_result.read_bytes())
    checkout.put(f"evidence/{NAME}.tar.gz", made.read_bytes())
    checkout.put("recipes/qwen3-32b/h200/openrecipes-tp2-pp4.yaml", DRAFT.read_bytes())
    ran = checkout.check()
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stdout.startswith("2 recipes submitted\n")
    assert ran.stdout.count("rendered for slurm") == 2
    assert f"{NAME}.tar.gz: ok" in ran.stdout
    assert "not measured" in ran.stdout


def test_figures_without_a_bundle_or_with_anothers_are_wrong(checkout: Checkout, tmp_path: Path) -> None:
    checkout.put(f"recipes/{NAME}.yaml", RECIPES["tp2"].read_bytes())
    ran = checkout.check()
    assert ran.returncode == 1
    assert f"wrong: {NAME}: it has figures, but there is no evidence/{NAME}.tar.gz" in ran.stdout
    run, claim = made_run(tmp_path / "run")
    made = bundle(claim, [run.root], tmp_path / "b.tar.gz").file
    checkout.put(f"evidence/{NAME}.tar.gz", made.read_bytes())
    ran = checkout.check()
    assert ran.returncode == 1
    assert f"wrong: {NAME}: evidence/{NAME}.tar.gz does not verify" in ran.stdout
    assert "is not the recipe of" in ran.stderr


def test_a_recipe_with_errors_a_link_and_an_odd_place_are_wrong(checkout: Checkout) -> None:
    checkout.put("recipes/qwen3-32b/h200/openrecipes-tp2-pp4.yaml", DRAFT.read_bytes().replace(b"  tp: 2", b"  tp: 3"))
    checkout.put("recipes/odd place; rm -rf x.yaml", b"")
    checkout.put("evidence/a/b/c.exe", b"")
    (checkout.root / "recipes/a/b").mkdir(parents=True)
    (checkout.root / "recipes/a/b/link.yaml").symlink_to("/etc/passwd")
    ran = checkout.check()
    assert ran.returncode == 1
    wrong = [line for line in ran.stdout.splitlines() if line.startswith("wrong: ")]
    assert sorted(wrong) == [
        "wrong: 'evidence/a/b/c.exe' is no place for a recipe or its bundle",
        "wrong: 'recipes/odd place; rm -rf x.yaml' is no place for a recipe or its bundle",
        "wrong: a/b/link: there is no such recipe, or it is a link",
        "wrong: qwen3-32b/h200/openrecipes-tp2-pp4: openrecipes check finds errors",
    ]


def test_a_package_of_the_submission_is_not_imported_and_nothing_submitted_is_fine(checkout: Checkout) -> None:
    checkout.put("openrecipes/__init__.py", b"raise SystemExit(99)")
    ran = checkout.check()
    assert (ran.returncode, ran.stdout) == (0, "0 recipes submitted\n")
