"""The verb `preflight`: a report of every node, and an exit status that can block."""

import json
from pathlib import Path

from called import Called, openrecipes


def _run(*words: str) -> Called:
    return openrecipes("preflight", *words)


def test_the_smoke_recipe_passes_here_and_the_json_is_one_document() -> None:
    ran = _run("--recipe", "qwen3.5-moe-mini/cpu/smoke-dp2", "--json")
    document = json.loads(ran.stdout)
    assert ran.returncode == 0, ran.stderr
    assert len(document["nodes"]) == 1
    assert all(problem["severity"] == "warning" for problem in document["problems"])


def test_a_node_that_does_not_fit_the_recipe_ends_with_1(tmp_path: Path) -> None:
    profile = tmp_path / "here.yaml"
    text = "schema_version: 1\nname: here\ntarget: local\n"
    profile.write_text(text, encoding="utf-8")
    ran = _run("--cluster", str(profile), "--recipe", "qwen3.5-397b-a17b/h200/attune-tp2-pp4-ep32", "--json")
    assert ran.returncode == 1
    rules = {problem["rule"] for problem in json.loads(ran.stdout)["problems"]}
    assert {"preflight-gpu", "preflight-version", "preflight-nodes"} <= rules
    assert "mend:" in ran.stderr


def test_what_cannot_be_looked_at_is_told_before_anything_is_asked(tmp_path: Path) -> None:
    profile = tmp_path / "there.yaml"
    text = "schema_version: 1\nname: there\ntarget: ssh\ngpu: {type: H100}\nssh: {hosts: [no-such-host]}\n"
    profile.write_text(text, encoding="utf-8")
    ran = _run("--cluster", str(profile), "--recipe", "qwen3.5-397b-a17b/h200/attune-tp2-pp4-ep32")
    assert (ran.returncode, ran.stdout) == (1, "")
    assert f"{profile}:4:gpu.type: H100 GPUs, but the recipe is for H200" in ran.stderr
    profile.write_text("schema_version: 1\nname: here\ntarget: local\npython: /no/python\n", encoding="utf-8")
    ran = _run("--cluster", str(profile))
    assert ran.returncode == 3
    assert "/no/python cannot be started: No such file or directory" in ran.stderr


def test_values_are_said_in_words() -> None:
    ran = _run("--recipe", "qwen3.5-moe-mini/cpu/smoke-dp2")
    assert ran.returncode == 0, ran.stderr
    assert "distributions " in ran.stdout
    assert not set("[]{}'") & set(ran.stdout)
