"""What all tests share: golden files, and tests that need an outside tool."""

import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# How long an example takes says something about the machine, and nothing about the code.
settings.register_profile("openrecipes", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("openrecipes")

# Workers fill the cores: more threads of torch, here and in programs under test, spin and wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

ROOT = Path(__file__).resolve().parent.parent
IN_CI = os.environ.get("CI") == "true"
_left_out: dict[str, set[str]] = {}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite the golden files; CI refuses it")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than cores: tests that launch and follow wait for a clock and leave theirs idle."""
    return len(os.sched_getaffinity(0)) + 1


def pytest_configure(config: pytest.Config) -> None:
    if IN_CI and config.getoption("--update-golden"):
        raise pytest.UsageError("--update-golden writes what the tests then compare with; CI never does that")
    # A shell starts what it puts into the background deaf to Ctrl-C, and programs under test would inherit that.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """A test marked `tool("name")` or `checkout("ENV_NAME")` runs where that is; CI must have every tool."""
    for mark in item.iter_markers("tool"):
        for name in mark.args:
            if not _has_tool(name):
                _leave_out(item, name, must_have=IN_CI)
    for mark in item.iter_markers("checkout"):
        for name in mark.args:
            if not os.environ.get(name):
                _leave_out(item, f"${name}", must_have=False)
    if item.get_closest_marker("gpu") and not shutil.which("nvidia-smi"):
        _leave_out(item, "a CUDA GPU", must_have=False)


def _has_tool(name: str) -> bool:
    """A program on the path, or (`module:NAME`) a Python module that can be found."""
    if name.startswith("module:"):
        import importlib.util

        return importlib.util.find_spec(name.removeprefix("module:")) is not None
    beside_python = Path(sys.executable).with_name(name)  # what pip installed, also where the folder is not on PATH
    return shutil.which(name) is not None or Path(f"/usr/sbin/{name}").exists() or beside_python.exists()


def _leave_out(item: pytest.Item, missing: str, *, must_have: bool) -> None:
    if must_have:
        pytest.fail(f"{missing} is missing, and with CI=true every tool must be there: see .ci/run", pytrace=False)
    _left_out.setdefault(missing, set()).add(item.nodeid)
    pytest.skip(f"{missing} is not here")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    skipped = terminalreporter.stats.get("skipped", [])
    if skipped:
        terminalreporter.section("left out")
        reasons: dict[str, int] = {}
        for report in skipped:
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
            reasons[reason] = reasons.get(reason, 0) + 1
        for reason, count in sorted(reasons.items()):
            terminalreporter.write_line(f"{count} test{'s' if count > 1 else ''}: {reason}")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compares a text with `tests/golden/NAME`, byte for byte; a missing file fails."""

    def compare(name: str, text: str) -> None:
        path = ROOT / "tests" / "golden" / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
        assert path.exists(), f"no golden file {path}; write it with pytest --update-golden and review it"
        assert text.encode() == path.read_bytes()

    return compare
