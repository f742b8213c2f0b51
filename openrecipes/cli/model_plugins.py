"""Pydantic's plugins: left out where no other program is started."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_SWITCH: Final = "PYDANTIC_DISABLE_PLUGINS"


@contextmanager
def without_plugins() -> Iterator[None]:
    """Keeps pydantic from looking for plugins, for which it reads the metadata of every installed package."""
    before = os.environ.get(_SWITCH)
    os.environ[_SWITCH] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_SWITCH]
        else:
            os.environ[_SWITCH] = before
