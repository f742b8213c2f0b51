"""The RayJob that the page shows is the rendered one, shortened."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_every_line_shown_stands_in_the_rendered_job_in_that_order() -> None:
    shown = (ROOT / "docs" / "kubernetes.md").read_text(encoding="utf-8").partition("```yaml\n")[2].partition("```")[0]
    golden = ROOT / "tests" / "golden" / "kubernetes" / "qwen3.5-397b-a17b-h200-attune-tp2-pp4-ep32" / "rayjob.yaml"
    left = iter(golden.read_text(encoding="utf-8").splitlines())
    lines = [line for line in shown.splitlines() if line.strip() != "…"]
    assert len(lines) > 60
    for line in lines:
        assert line in left, line
