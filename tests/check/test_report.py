import json
import re
from pathlib import Path

import pytest
from called import Called, openrecipes
from good_recipes import FILE, UNMEASURED, good, good_smoke, text_with
from hypothesis import given, settings
from hypothesis import strategies as st

from openrecipes.check.report import check_files, check_text
from openrecipes.problems import errors_in

ROOT = Path(__file__).resolve().parents[2]
PUBLISHED = "recipes/qwen3.5-397b-a17b/h200/attune-tp2-pp4-ep32.yaml"

FIVE = (
    ("  count: 128", "  count: many"),
    ("  revision: b14", "  revison: b14"),
    ("  dp: 16", "  dp: 8"),
    ("mfu: 0.054", "mfu: 6.4e-2"),
    ("--lr 1e-5", "--lrr 1e-5"),
)


def planted(text: str) -> str:
    for old, new in FIVE:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def check(*words: object) -> Called:
    return openrecipes("check", *words)


def test_mistakes_of_all_kinds_come_in_one_run_and_in_order() -> None:
    found = check_text(planted(good()), FILE)
    assert [(problem.place.key, problem.rule) for problem in found] == [
        ("gpu.count", "schema-kind"),
        ("workload.dataset.revison", "schema-unknown-key"),
        ("layout.label", "words-label"),
        ("layout.summary", "words-degrees"),
        ("result.mfu", "figure-mfu"),
        ("run", "command-missing"),
        ("run", "argument-unknown"),
    ]
    lines = [problem.place.line or 0 for problem in found]
    assert lines == sorted(lines)
    text = planted(good()).splitlines()
    for problem, word in zip(found, ("many", "revison", "DP16", "DP 16", "mfu: 6.4", "--async", "--lrr"), strict=True):
        near = "\n".join(text[(problem.place.line or 0) - 1 : (problem.place.line or 0) + 1])
        assert word in near, problem


def test_a_file_that_cannot_be_read_hides_nothing_of_the_others(tmp_path: Path) -> None:
    texts = {
        "a.yaml": b"\xff",
        "b.yaml": good().replace("  dp: 16", "  dp: 8").encode(),
        "c.yaml": b"a: [",
        "d.yaml": good().encode(),
    }
    for name, data in texts.items():
        (tmp_path / name).write_bytes(data)
    report = check_files([tmp_path / name for name in (*texts, "none.yaml")])
    assert report.files == 5
    found = {(Path(problem.place.file).name, problem.rule) for problem in report.problems}
    assert found == {
        ("a.yaml", "yaml-utf8"),
        ("b.yaml", "layout-dp"),
        ("c.yaml", "yaml-syntax"),
        ("none.yaml", "file-readable"),
    }
    assert [problem.place.file for problem in report.problems] == sorted(
        problem.place.file for problem in report.problems
    )


def test_strict_makes_warnings_errors_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(text_with(good(), {"patches": []}), encoding="utf-8")
    plain, strict = check_files([path]), check_files([path], strict=True)
    assert [problem.severity for problem in plain.problems] == ["warning"]
    assert [problem.severity for problem in strict.problems] == ["error"]
    assert plain.summary == "1 recipe: no errors, 1 warning"
    assert strict.summary == "1 recipe: 1 error, no warnings"


def test_a_draft_has_nothing_to_answer_for() -> None:
    assert check_text(text_with(good(), UNMEASURED), FILE) == ()


def test_messages_are_short_whatever_the_file_says() -> None:
    long = "x" * 15_000
    changes = {
        "layout.summary": f"TP 9 {long}",
        "stack.framework": f"{long} 0123456",
        "arguments.lr": long,
        "model": long,
        "env.A": f"$({long})",
    }
    for problem in check_text(text_with(good(), changes, derived=("run",)), FILE):
        assert len(problem.what) < 500, problem.rule
        assert len(problem.mend) < 500, problem.rule


def test_control_characters_of_a_file_do_not_reach_the_terminal() -> None:
    text = text_with(good(), {"model": "a\x1b[2Jb\nc", "layout.label": "\x9b31m"}, derived=())
    for problem in check_text(text, FILE):
        assert str(problem).replace("\n  mend: ", "", 1).isprintable()


def test_one_problem_has_one_place() -> None:
    found = check_text(planted(good()), FILE)
    places = [(problem.place, problem.rule) for problem in found]
    assert len(set(places)) == len(places)


def test_a_recipe_of_100_000_lines_is_read(tmp_path: Path) -> None:
    path = tmp_path / "long.yaml"
    flags = "".join(f"    --flag-{i} {i} \\\n" for i in range(8_000))
    text = good().replace("    --optimizer adam", f"{flags}    --optimizer adam")
    path.write_text(text + "patches_more:\n" + "".join(f"- line {i}\n" for i in range(100_000)), encoding="utf-8")
    report = check_files([path])
    assert report.errors


values = st.none() | st.booleans() | st.integers(-5, 200) | st.floats(0, 1e6) | st.text(max_size=12)
LAYOUT_KEYS = (
    *("tp", "pp", "vpp", "cp", "ep", "etp", "dp"),
    *("layer_split", "max_tokens_per_gpu", "recompute", "summary", "offload"),
)
KEYS = [f"layout.{name}" for name in LAYOUT_KEYS]
KEYS += ["gpu.count", "gpu.per_node", "gpu.type", "gpu.instance", "model", "status", "trainer", "run", "correctness"]
KEYS += ["workload.row_tokens", "workload.global_batch", "workload.precision", "env.A", "arguments.lr", "arguments.x"]
KEYS += ["result.window", "result.steps_per_run", "result.tokens_per_s_per_gpu", "result.rule", "arguments.optimizer"]


@settings(max_examples=80)
@given(st.dictionaries(st.sampled_from(KEYS), values, min_size=1, max_size=4))
def test_rules_never_raise(changes: dict[str, object]) -> None:
    for text in (good(), good_smoke()):
        for problem in check_text(text_with(text, changes, derived=()), FILE):
            assert problem.what
            assert problem.mend


@settings(max_examples=80)
@given(st.text(alphabet="ab '\"\\\n$`(){}[]<>;&|#=-", max_size=60), st.integers(0, 1200))
def test_any_text_in_run_is_checked(text: str, where: int) -> None:
    whole = good()
    start = whole.index("run: |\n") + len("run: |\n")
    spoilt = whole[: start + where] + text.replace("\n", "\n  ") + whole[start + where :]
    check_text(spoilt, FILE)


def test_check_of_the_shipped_recipes_ends_well() -> None:
    done = check()
    assert done.returncode == 0, done.stdout
    assert done.stderr == ""
    assert re.fullmatch(r"[0-9]+ recipes: no errors, [0-9]+ warnings", done.stdout.splitlines()[-1])
    assert "warning: " in done.stdout
    assert "[words-patches]" in done.stdout
    assert check("--strict").returncode == 1


def test_json_is_one_document_of_the_stated_keys() -> None:
    done = check(PUBLISHED, "--json")
    document = json.loads(done.stdout)
    assert (document["files"], len(document["problems"]), done.returncode) == (1, 3, 0)
    assert list(document["problems"][0]) == ["file", "line", "key", "rule", "severity", "what", "mend"]
    assert {problem["severity"] for problem in document["problems"]} == {"warning"}
    strict = json.loads(check(PUBLISHED, "--json", "--strict").stdout)
    assert {problem["severity"] for problem in strict["problems"]} == {"error"}


def test_short_names_files_and_folders_are_named_alike() -> None:
    short = check("qwen3.5-397b-a17b/h200/attune-tp2-pp4-ep32", PUBLISHED, "--json")
    assert json.loads(short.stdout)["files"] == 1
    folder = check("recipes/qwen3.5-397b-a17b/h200", "--json")
    assert json.loads(folder.stdout)["files"] == 3


def test_what_names_nothing_is_wrong_usage_and_hides_nothing(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    bad = tmp_path / "bad.yaml"
    bad.write_text(planted(good()), encoding="utf-8")
    done = check("no/such-recipe", tmp_path / "empty", bad, "--json")
    assert done.returncode == 2
    problems = json.loads(done.stdout)["problems"]
    assert [problem["rule"] for problem in problems].count("file-readable") == 2
    assert len(problems) == 9
    assert check(bad).returncode == 1


@pytest.mark.parametrize("count", [1000])
def test_ten_bad_recipes_among_a_thousand_are_found(tmp_path: Path, count: int) -> None:
    whole = good()
    for index in range(count):
        text = whole.replace("  dp: 16", "  dp: 8") if index % 100 == 7 else whole
        (tmp_path / f"{index:04}.yaml").write_text(text, encoding="utf-8")
    done = check(tmp_path, "--json")
    document = json.loads(done.stdout)
    bad = {Path(problem["file"]).stem for problem in document["problems"] if problem["rule"] == "layout-dp"}
    assert bad == {f"{index:04}" for index in range(7, count, 100)}
    assert (document["files"], done.returncode) == (count, 1)


def test_nothing_in_a_recipe_is_run(tmp_path: Path) -> None:
    flag = tmp_path / "ran"
    text = (
        good()
        .replace("--lr 1e-5", f"--lr $(touch {flag})")
        .replace("  TORCHINDUCTOR_COMPILE_THREADS: '1'", f"  X: $(touch {flag})")
    )
    bad = tmp_path / "bad.yaml"
    bad.write_text(text + f"x: !!python/object/apply:os.system ['touch {flag}']\n", encoding="utf-8")
    assert check(bad).returncode == 1
    assert not flag.exists()


def test_a_hidden_folder_is_left_out(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "a.yaml").write_text("a: 1\n", encoding="utf-8")
    (tmp_path / "b.yaml").write_text(good(), encoding="utf-8")
    done = check(tmp_path, "--json")
    assert json.loads(done.stdout) == {"files": 1, "problems": []}


def test_a_wrong_dp_is_one_problem_and_hides_no_other() -> None:
    good = (ROOT / "recipes/qwen3.5-397b-a17b/h200/attune-tp2-pp4-ep32.yaml").read_text()
    file = "recipes/qwen3.5-397b-a17b/h200/attune-tp2-pp4-ep32.yaml"
    wrong = good.replace("  dp: 16\n", "  dp: 12\n")
    assert [p.rule for p in errors_in(check_text(wrong, file))] == ["layout-dp"]
    also = wrong.replace("summary: TP 2, PP 4", "summary: TP 2, PP 2")
    assert {p.rule for p in errors_in(check_text(also, file))} == {"layout-dp", "words-degrees"}


def test_an_unreadable_entry_of_a_mapping_hides_no_other() -> None:
    bad = "arguments:\n  lr: 1e-5\n  moe_router_topkk: 2\n  clip_grad: often\n  adam_beta1: {a: 1}\n"
    text = good().replace("arguments:\n", bad, 1)
    text = text.replace("env:\n", "env:\n  A_TOKEN: abc\n  FLAG: yes\n", 1)
    assert [(problem.place.key, problem.rule) for problem in check_text(text, FILE)] == [
        ("arguments.lr", "yaml-number-as-text"),
        ("arguments.moe_router_topkk", "argument-unknown"),
        ("arguments.clip_grad", "argument-value"),
        ("arguments.adam_beta1", "schema-kind"),
        ("env.A_TOKEN", "env-exports"),
        ("env.A_TOKEN", "env-secret"),
        ("env.FLAG", "yaml-word-as-boolean"),
        ("run", "command-missing"),
        ("run", "command-missing"),
    ]
