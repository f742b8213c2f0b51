"""A server that stands in for the Hugging Face hub: one dataset at one commit, with broken downloads where asked."""

import hashlib
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

DATASET, COMMIT = "allenai/tulu-3-sft-mixture", "b14afda60f1bbebe55d5d2fa1e4df5042f97f8be"


@dataclass
class Hub:
    """What it serves, and what it was asked. `cuts` are the lengths after which the next downloads break off."""

    files: Mapping[str, bytes]
    token: str | None = None
    cuts: list[int] = field(default_factory=list)
    url: str = ""
    tokens: set[str | None] = field(default_factory=set)
    asked: list[str] = field(default_factory=list)
    ranges: list[str] = field(default_factory=list)
    bytes_served: int = 0


@contextmanager
def served(hub: Hub) -> Iterator[Hub]:
    """The hub, at its `url`."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def do_HEAD(self) -> None:
            self.answer(body=False)

        def do_GET(self) -> None:
            self.answer(body=True)

        def answer(self, *, body: bool) -> None:
            path = self.path.partition("?")[0]
            hub.asked.append(path)
            if DATASET not in path:
                return self.send(404, b"{}", {})
            hub.tokens.add(self.headers.get("Authorization"))
            if hub.token is not None and self.headers.get("Authorization") != f"Bearer {hub.token}":
                return self.send(401, b"{}", {"X-Error-Code": "RepoNotFound"})
            if path.startswith(f"/api/datasets/{DATASET}"):
                rest = path.removeprefix(f"/api/datasets/{DATASET}")
                if rest not in ("", "/revision/main", f"/revision/{COMMIT}") and not rest.startswith("/tree/"):
                    return self.send(404, b"{}", {"X-Error-Code": "RevisionNotFound"})
                siblings = [{"rfilename": name, "size": len(content)} for name, content in hub.files.items()]
                tree = [{"type": "file", "path": s["rfilename"], "size": s["size"], "oid": "0"} for s in siblings]
                document = tree if rest.startswith("/tree/") else {"id": DATASET, "sha": COMMIT, "siblings": siblings}
                return self.send(200, json.dumps(document).encode(), {"Content-Type": "application/json"})
            name = path.removeprefix(f"/datasets/{DATASET}/resolve/{COMMIT}/")
            if name not in hub.files:
                return self.send(404, b"{}", {"X-Error-Code": "RepoNotFound"})
            return self.file(hub.files[name], body=body)

        def file(self, content: bytes, *, body: bool) -> None:
            start, asked = 0, self.headers.get("Range")
            if asked and body:
                hub.ranges.append(asked)
                start = int(asked.removeprefix("bytes=").partition("-")[0])
            headers = {"ETag": f'"{hashlib.sha256(content).hexdigest()}"', "X-Repo-Commit": COMMIT}
            if start:
                headers["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
            cut = hub.cuts.pop(0) if body and hub.cuts else None
            self.send(206 if start else 200, content[start:], headers, body=body, cut=cut)

        def send(
            self, status: int, content: bytes, headers: Mapping[str, str], *, body: bool = True, cut: int | None = None
        ) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if body and self.command != "HEAD":
                sent = content if cut is None else content[:cut]
                hub.bytes_served += len(sent)
                self.wfile.write(sent)
                self.wfile.flush()
            if cut is not None:
                self.close_connection = True
                self.connection.close()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hub.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
