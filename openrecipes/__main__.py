"""The console script, also as `python -m openrecipes VERB …`."""

import atexit
import gc


def main() -> None:
    """Runs the verb that the command line names; ends the process."""
    # What is imported stays to the end: the collector need not look at it as it grows, nor once more at exit.
    # Nor do results hold cycles: the search of thousands of layouts is a fifth faster with few collections.
    gc.disable()
    gc.set_threshold(50_000, 20, 20)
    atexit.register(gc.freeze)
    from openrecipes.cli.app import main as run  # noqa: PLC0415  (after the collector is off)

    run()


if __name__ == "__main__":  # worker processes import this file under another name
    main()
