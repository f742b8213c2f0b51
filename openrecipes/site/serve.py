"""Serves a site on this machine alone: from a folder, or from files in memory."""

import posixpath
from collections.abc import Callable, Mapping
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from openrecipes.problems import OutsideError, Place, Problem, UsageError

HOST: Final = "127.0.0.1"
_KINDS: Final = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".yaml": "application/yaml; charset=utf-8",
    ".xml": "application/xml",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
Ready = Callable[[str], None]


def serve_folder(folder: Path, port: int, *, ready: Ready) -> None:
    """Serves the files of a built site until interrupted. Raises: UsageError if the folder holds none."""
    root = folder.resolve()
    if not (root / "index.html").is_file():
        what, mend = "holds no index.html", "name a folder that `site build` made"
        raise UsageError(Problem(place=Place(file=str(folder)), rule="site-folder", what=what, mend=mend))

    def read(address: str) -> bytes | None:
        path = (root / address).resolve()
        return path.read_bytes() if path.is_relative_to(root) and path.is_file() else None

    _serve(read, port, ready)


def serve_files(files: Mapping[str, bytes], port: int, *, ready: Ready) -> None:
    """Serves these files until interrupted."""
    _serve(files.get, port, ready)


def _serve(read: Callable[[str], bytes | None], port: int, ready: Ready) -> None:
    try:
        server = ThreadingHTTPServer((HOST, port), partial(_Handler, read))
    except OSError as error:
        what, mend = f"port {port} cannot be used: {error.strerror}", "name another port, or 0 for any free one"
        raise OutsideError(Problem(place=Place(key="--port"), rule="site-port", what=what, mend=mend)) from error
    with server:
        ready(f"http://{HOST}:{server.server_address[1]}/")
        server.serve_forever()


class _Handler(BaseHTTPRequestHandler):
    """Answers GET and HEAD with files; nothing else is asked of a static site."""

    def __init__(self, read: Callable[[str], bytes | None], *arguments: object) -> None:
        self._read = read
        super().__init__(*arguments)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        """The file at the request's path; a folder's is its index.html."""
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        """The same without the file."""
        self._answer(with_body=False)

    def log_message(self, *_arguments: object) -> None:
        """Says nothing: the terminal is for problems."""

    def _answer(self, *, with_body: bool) -> None:
        path = unquote(urlsplit(self.path).path)
        address = posixpath.normpath(f"/{path}index.html" if path.endswith("/") else f"/{path}").lstrip("/")
        try:
            content = self._read(address)
        except (OSError, ValueError):
            content = None
        if content is None:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", _KINDS.get(posixpath.splitext(address)[1], "application/octet-stream"))
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        if with_body:
            self.wfile.write(content)
