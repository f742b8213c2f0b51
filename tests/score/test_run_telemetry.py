"""A score tells what the GPUs did in its window, and stands without knowing it."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from made_run_directories import job, made
from made_runs import EXPECTED, START_S, slime_log
from rich.console import Console

from openrecipes.cli.score_page import score_page
from openrecipes.runs.directory import RunDirectory
from openrecipes.score.run_evidence import read_run
from openrecipes.score.score import score
from openrecipes.score.scorecard import Scorecard

FIELDS = ["index", "sm_clock_mhz", "power_w", "temperature_c", "throttle_reasons"]


def _sampled(run: RunDirectory, host: str, *rows: tuple[float, list[list[Any]]]) -> None:
    folder = run.root / "telemetry"
    folder.mkdir(exist_ok=True)
    lines = [{"schema_version": 1, "host": host, "interval_s": 5.0, "fields": FIELDS, "unix_s": 0}]
    lines += [{"unix_s": when, "gpus": gpus} for when, gpus in rows]
    text = "".join(json.dumps(line) + "\n" for line in [*lines, {"unix_s": 9e9, "ended": "signal"}])
    (folder / f"{host}.jsonl").write_text(text, encoding="utf-8")


def _score(run: RunDirectory) -> Scorecard:
    return score(EXPECTED, read_run(str(run.root)))


def _page(card: Scorecard) -> str:
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(score_page(card, "title"))
    return console.export_text()


def test_the_readings_are_those_of_the_scored_window(tmp_path: Path) -> None:
    run = made(tmp_path / "run", of_job=job())
    before, inside, after = START_S - 50, START_S + 200, START_S + 299
    _sampled(run, "n1", (before, [[0, 345, 90, 30, 1]]), (inside, [[0, 1700, 690, 66, 4], [1, 1500, 700, 80, 0x40]]))
    _sampled(run, "n2", (inside, [[0, 1720, 680, 60, 4]]), (after, [[0, 100, 90, 30, 1]]))
    card = _score(run)
    assert card.telemetry is not None
    document = card.document()["telemetry"]
    assert document["interval"] == "window"
    assert [(g["host"], g["index"], g["sm_clock_mhz"]["mean"]) for g in document["gpus"]] == [
        ("n1", 0, 1700.0),
        ("n1", 1, 1500.0),
        ("n2", 0, 1720.0),
    ]
    assert [gpu["throttle_share"] for gpu in document["gpus"]] == [0.0, 1.0, 0.0]
    page = _page(card)
    assert "1,640 MHz" in page
    assert "slowest 1,500 (n1 GPU 1)" in page
    assert "1 of 3 GPUs" in page
    assert "100.0% of its samples" in page


def test_without_stamps_it_is_the_whole_jobs(tmp_path: Path) -> None:
    text = "".join(line.partition("] ")[2] + "\n" for line in slime_log().splitlines())
    run = made(tmp_path / "run", of_job=job(), text=text)
    _sampled(run, "n1", (START_S - 50, [[0, 345, 90, 30, None]]))
    card = _score(run)
    assert card.telemetry is not None
    assert card.telemetry.interval == "job"
    assert "over the whole job" in _page(card)


ODD_ROWS = '{"fields": ["index"]}\n{"unix_s": "x", "gpus": [[[]]]}\n{"unix_s": 1790000200, "gpus": [[[]], [1, 2], 3]}\n'


@pytest.mark.parametrize("text", ["", "{", '{"fields": 7}\n', ODD_ROWS, "\0\n"])
def test_what_cannot_be_read_of_it_fails_no_score(tmp_path: Path, text: str) -> None:
    run = made(tmp_path / "run", of_job=job())
    plain = _score(run)
    assert plain.telemetry is None
    assert plain.document()["telemetry"] is None
    assert "GPU clocks" not in _page(plain)
    (run.root / "telemetry").mkdir()
    (run.root / "telemetry" / "n1.jsonl").write_text(text, encoding="utf-8")
    (run.root / "telemetry" / "folder.jsonl").mkdir()
    card = _score(run)
    assert card.figures == plain.figures
    assert card.figures is not None
    assert card.telemetry is not None
    assert card.telemetry.readings.gpus == ()
    assert card.telemetry.readings.notes
    assert "no sample" in _page(card)


def test_a_bare_log_has_none(tmp_path: Path) -> None:
    run = made(tmp_path / "run", of_job=job())
    assert score(EXPECTED, read_run(str(run.log))).telemetry is None
