"""Checks every recipe that a branch submits: check, render for every target, verify the bundle behind its figures.

    python .github/check_submission.py [CHECKOUT] [--base COMMIT] [--clusters FOLDER]

CHECKOUT is read as data: no program of it is run, and links in it are refused. Exit status 1 if anything is wrong.
"""

import argparse
import json
import os
import re
import secrets
import subprocess
import sys
from pathlib import Path

# -I: a package of this name in the current folder must not pass for the installed one.
OPENRECIPES = (sys.executable, "-I", "-m", "openrecipes")
NAME = re.compile(
    r"(recipes|evidence)/([a-z0-9][a-z0-9.-]*)/([a-z0-9][a-z0-9.-]*)/([a-z0-9][a-z0-9.-]*?)(\.yaml|\.tar\.gz)"
)
MAX_BUNDLE_BYTES = 64 * 2**20
# Why a sound recipe may not fit a kind of place.
DOES_NOT_FIT = {"target-gpus", "target-nodes", "target-trainer"}


def submitted(checkout: Path, base: str) -> tuple[list[str], list[str]]:
    """Short names of the recipes that the branch adds or changes, or whose bundles; and what it may not touch so."""
    git = ["git", "-C", str(checkout), "-c", "core.quotePath=false"]
    words = ["diff", "--name-only", "-z", "--no-ext-diff", "--diff-filter=ACMRT", f"{base}...HEAD", "--"]
    ran = subprocess.run([*git, *words, "recipes", "evidence"], capture_output=True, check=True)
    names, odd = set(), []
    for path in ran.stdout.decode(errors="replace").split("\0"):
        match = NAME.fullmatch(path)
        if match and (match[5] == ".yaml") == (match[1] == "recipes"):
            names.add("/".join(match.group(2, 3, 4)))
        elif path:
            odd.append(path)
    return sorted(names), odd


def plain_file(checkout: Path, path: Path) -> bool:
    """Whether a file is there itself, not by way of a link."""
    return path.is_file() and path.resolve() == checkout.resolve() / path.relative_to(checkout)


def openrecipes(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """The harness, its messages passed on."""
    ran = subprocess.run([*OPENRECIPES, *map(str, words)], stdout=subprocess.PIPE, text=True, check=False)
    sys.stderr.flush()
    return ran


def problems_of(checkout: Path, name: str, clusters: Path) -> list[str]:
    """What is wrong with one recipe, in words."""
    recipe, bundle = checkout / "recipes" / f"{name}.yaml", checkout / "evidence" / f"{name}.tar.gz"
    if not plain_file(checkout, recipe):
        return ["there is no such recipe, or it is a link"]
    if openrecipes("check", recipe).returncode:
        return ["openrecipes check finds errors"]
    return [*rendered(recipe, clusters), *verified(checkout, recipe, bundle)]


def rendered(recipe: Path, clusters: Path) -> list[str]:
    """Renders for every example place; what is wrong."""
    profiles, wrong, targets = sorted(clusters.glob("*.yaml")), [], set()
    for profile in profiles:
        target = re.search(r"^target: *([a-z]+)", profile.read_text(encoding="utf-8"), re.MULTILINE)
        name = target[1] if target else ""
        ran = openrecipes("render", recipe, "--target", name, "--cluster", profile, "--json")
        if ran.returncode == 0:
            targets.add(name)
            print(f"  rendered for {name} ({profile.name}): {json.loads(ran.stdout)['render_sha256']}")
        elif not all(rule in DOES_NOT_FIT for rule in rules_of(ran.stdout)):
            wrong.append(f"it cannot be rendered for {name} ({profile.name})")
    return wrong if targets else [*wrong, f"it renders for none of the {len(profiles)} places in {clusters}"]


def rules_of(stdout: str) -> list[str]:
    """The rules of the errors that a refused verb printed as JSON; one that is unknown where it printed none."""
    try:
        problems = json.loads(stdout)["problems"]
        return [problem["rule"] for problem in problems if problem["severity"] == "error"] or ["unknown"]
    except (ValueError, KeyError, TypeError):
        return ["unknown"]


def verified(checkout: Path, recipe: Path, bundle: Path) -> list[str]:
    """Verifies the bundle, which every recipe with a figure must have."""
    result = json.loads(openrecipes("show", recipe, "--json").stdout)["result"]
    if result["tokens_per_s_per_gpu"] is None and not bundle.exists():
        print("  not measured: no bundle is needed")
        return []
    place = bundle.relative_to(checkout)
    if not plain_file(checkout, bundle):
        return [f"it has figures, but there is no {place}"]
    if bundle.stat().st_size > MAX_BUNDLE_BYTES:
        return [f"{place} is larger than {MAX_BUNDLE_BYTES} bytes"]
    ran = openrecipes("verify", bundle, "--recipe", recipe)
    sys.stdout.write(ran.stdout)
    return [f"{place} does not verify"] if ran.returncode else []


def main() -> None:
    """Checks all that is submitted; ends the process."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("checkout", nargs="?", type=Path, default=Path(), help="checkout of the branch (default: here)")
    parser.add_argument("--base", default="origin/main", help="commit that it is compared with")
    parser.add_argument("--clusters", type=Path, default=Path("launch/clusters"), help="folder of cluster profiles")
    args = parser.parse_args()
    if os.environ.get("GITHUB_ACTIONS"):
        print(f"::stop-commands::{secrets.token_hex(16)}")  # what files say must not steer the runner
    names, odd = submitted(args.checkout, args.base)
    failed = [f"{path!r} is no place for a recipe or its bundle" for path in odd]
    print(f"{len(names)} recipe{'' if len(names) == 1 else 's'} submitted")
    for name in names:
        print(name, flush=True)
        failed += [f"{name}: {problem}" for problem in problems_of(args.checkout, name, args.clusters)]
    for line in failed:
        print(f"wrong: {line}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
