"""OpenRecipes: the end-to-end benchmark harness for LLM training recipes."""

__version__: str


def __getattr__(name: str) -> str:
    """The installed version, read when first asked for: the reader of metadata is slow to import."""
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415

    try:
        return version("openrecipes")
    except PackageNotFoundError:  # a checkout that was never installed
        return "0+unknown"
