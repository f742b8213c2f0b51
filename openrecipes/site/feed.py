"""What readers of feeds and search engines take: an Atom feed of new results, robots.txt, a sitemap."""

import datetime
import uuid
from collections.abc import Iterable
from typing import Final
from xml.etree.ElementTree import Element, SubElement, tostring

from openrecipes.site.addresses import FEED, HOME
from openrecipes.site.ranking import Board, Row
from openrecipes.site.shelf import Shelf
from openrecipes.site.shown_text import shown

_ATOM: Final = "http://www.w3.org/2005/Atom"
_SITEMAP: Final = "http://www.sitemaps.org/schemas/sitemap/0.9"
_NAMES: Final = uuid.UUID("0d9e1b52-6f4c-5d0e-9a3f-6b0a5a1f7c11")
_MOST: Final = 50
_EPOCH: Final = datetime.date(1970, 1, 1)


def feed(shelf: Shelf, base_url: str | None) -> str:
    """An Atom feed of the newest ranked results. Links are relative to the feed where the site has no address."""
    found = sorted(shelf.places(), key=lambda place: (place[0].measured or _EPOCH, place[0].recipe), reverse=True)[
        :_MOST
    ]
    root = Element("feed", xmlns=_ATOM)
    _text(root, "title", "OpenRecipes: new results")
    _text(root, "id", base_url + FEED if base_url else f"urn:uuid:{_NAMES}")
    _text(root, "updated", _moment(max((row.measured or _EPOCH for row, _ in found), default=_EPOCH)))
    SubElement(root, "link", rel="alternate", type="text/html", href=(base_url or "") + HOME)
    SubElement(root, "link", rel="self", type="application/atom+xml", href=(base_url or "") + FEED)
    _text(SubElement(root, "author"), "name", "OpenRecipes")
    for row, board in found:
        _entry(root, shelf, row, board, base_url or "")
    return '<?xml version="1.0" encoding="utf-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def robots(base_url: str | None) -> str:
    """Everything may be read; the sitemap is named where there is one."""
    return "User-agent: *\nAllow: /\n" + (f"Sitemap: {base_url}sitemap.xml\n" if base_url else "")


def sitemap(pages: Iterable[str], base_url: str) -> str:
    """Every page of the site, by its full address: a sitemap knows no other."""
    root = Element("urlset", xmlns=_SITEMAP)
    for address in pages:
        _text(SubElement(root, "url"), "loc", base_url + ("" if address == HOME else address))
    return '<?xml version="1.0" encoding="utf-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _entry(root: Element, shelf: Shelf, row: Row, board: Board, base: str) -> None:
    entry = SubElement(root, "entry")
    key = board.key
    _text(entry, "title", f"{key.model} on {key.gpu}: {row.tokens_per_s_per_gpu:,.1f} tokens/s per GPU, {row.layout}")
    _text(entry, "id", f"urn:uuid:{uuid.uuid5(_NAMES, f'{row.recipe} {row.measured}')}")
    _text(entry, "updated", _moment(row.measured or _EPOCH))
    SubElement(entry, "link", rel="alternate", type="text/html", href=base + shelf.recipe_page(row.recipe))
    _text(SubElement(entry, "author"), "name", row.author.name)
    price = "" if row.usd_per_million_tokens is None else f", ${row.usd_per_million_tokens:,.2f} / 1M tokens"
    _text(entry, "summary", f"#{row.rank} of {len(board.rows):,} on its board{price}; {row.badge}.")


def _text(parent: Element, name: str, text: str) -> None:
    SubElement(parent, name).text = str(shown(text))


def _moment(day: datetime.date) -> str:
    return f"{day.isoformat()}T00:00:00Z"
