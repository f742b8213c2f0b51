from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def no_models_of_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests see the shipped models only, whatever was added on this machine."""
    monkeypatch.setenv("OPENRECIPES_MODELS", str(tmp_path / "own"))
