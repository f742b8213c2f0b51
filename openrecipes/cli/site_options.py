"""Options of `site` that hold an address."""

from urllib.parse import urlsplit

from openrecipes.problems import Place, Problem, UsageError


def http_address(option: str, value: str | None) -> str | None:
    """The address without its last slash. Raises: UsageError if it is no plain http or https address."""
    if value is None:
        return None
    try:
        parts = urlsplit(value)
        is_plain = parts.scheme in ("http", "https") and bool(parts.hostname) and not (parts.query or parts.fragment)
    except ValueError:
        is_plain = False
    if not is_plain or any(character.isspace() or not character.isprintable() for character in value):
        raise UsageError(
            Problem(
                place=Place(key=option),
                rule="site-address",
                what=f"{value} is not the address of a site",
                mend="write one such as https://recipes.example.org, without ? and #",
            )
        )
    return value.rstrip("/")
