"""OpenRecipes: the end-to-end benchmark harness for LLM training recipes."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("openrecipes")
except PackageNotFoundError:  # a checkout that was never installed
    __version__ = "0+unknown"
