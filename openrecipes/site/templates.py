"""The site's templates filled in: every value escaped, a value that is missing an error."""

from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Final

import jinja2

import openrecipes
from openrecipes.site import addresses
from openrecipes.site.shown_text import exact, shown

FOLDER: Final = Path(__file__).resolve().parent


def page(template: str, here: str, **values: Any) -> str:
    """The page at the address `here`; its template turns addresses into links with `link`."""
    return _environment().get_template(template).render(values, here=here, link=partial(addresses.relative, here))


@lru_cache(maxsize=1)
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["exact"] = exact
    environment.globals |= {"at": addresses, "version": openrecipes.__version__}
    return environment
