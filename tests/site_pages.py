"""Pages of a built site as tests look at them: elements, attributes, links, and the text of an element."""

from html.parser import HTMLParser
from posixpath import dirname, join, normpath

VOID = {"meta", "link", "img", "input", "br", "hr", "path", "rect", "circle"}


class Page(HTMLParser):
    """Every start tag of a page with its attributes, and the text below each id."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, str] = {}
        self.all_text = ""
        self._open: list[tuple[str, str | None]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.tags.append((tag, found))
        if tag not in VOID:
            self._open.append((tag, found.get("id")))

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        self.all_text += data
        for _, name in self._open:
            if name:
                self.texts[name] = self.texts.get(name, "") + data

    def links(self) -> list[str]:
        """Every address that the page names, whether it is fetched or followed."""
        return [str(attrs[key]) for _, attrs in self.tags for key in ("href", "src") if attrs.get(key) is not None]

    def ids(self) -> list[str]:
        """Every id, in order."""
        return [str(attrs["id"]) for _, attrs in self.tags if attrs.get("id")]


def target(here: str, link: str) -> tuple[str, str]:
    """The address and the fragment that a link on the page `here` leads to."""
    path, _, fragment = link.partition("#")
    return (normpath(join(dirname(here), path)) if path else here), fragment
