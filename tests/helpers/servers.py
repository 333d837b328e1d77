"""A web server for the tests, which can be told to misbehave."""

import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Site:
    """What the server sends, how, and what it was asked."""

    files: dict[str, bytes] = field(default_factory=dict)
    etag: str | None = '"1"'
    modified: str | None = None
    knows_ranges: bool = True
    shift: int = 0  # bytes by which a part begins too late
    cut_after: int | None = None  # bytes of the next body after which the connection closes
    stalls: bool = False  # instead of closing it
    length: str = "told"  # or "untold", or "chunked"
    ranges: list[str | None] = field(default_factory=list)  # asked for
    n_sent: int = 0
    address: str = ""
    is_over: threading.Event = field(default_factory=threading.Event)

    def url(self, path):
        return f"{self.address}/{path}"


class _Handler(BaseHTTPRequestHandler):
    def log_message(self, *arguments):
        pass

    def do_GET(self):
        site = self.server.site
        content = site.files.get(self.path.lstrip("/"))
        site.ranges.append(self.headers["Range"])
        if content is None:
            self.send_error(404)
            return
        start = self._start(site)
        if start is not None and start >= len(content):
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(content)}")
            self.end_headers()
            return
        self.send_response(200 if start is None else 206)
        if start is not None:
            start += site.shift
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        self._send(site, content[start:])

    def _start(self, site):
        """First byte that was asked for, if the file is still of the version asked for."""
        version = site.etag or site.modified
        if not site.knows_ranges or self.headers["If-Range"] != version or version is None:
            return None
        return int(self.headers["Range"].removeprefix("bytes=").removesuffix("-"))

    def _send(self, site, body):
        for name, value in (("ETag", site.etag), ("Last-Modified", site.modified)):
            if value:
                self.send_header(name, value)
        if site.length == "told":
            self.send_header("Content-Length", str(len(body)))
        if site.length == "chunked":
            self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        sent, site.cut_after = body[: site.cut_after], None
        site.n_sent += len(sent)
        if site.length == "chunked":
            self.wfile.write(f"{len(body):x}\r\n".encode())
        self.wfile.write(sent)
        if site.length == "chunked" and sent == body:
            self.wfile.write(b"\r\n0\r\n\r\n")
        if site.stalls:
            self.wfile.flush()
            site.is_over.wait(10)


class _Http11(_Handler):
    protocol_version = "HTTP/1.1"  # chunks are not known before


@contextmanager
def serving(site):
    """Run the server in a thread."""
    handler = _Http11 if site.length == "chunked" else _Handler
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.site = site
        site.address = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield site
        finally:
            site.is_over.set()
            server.shutdown()
            thread.join()
