"""A web server on this machine for the tests, which can be told to break off."""

import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Site:
    """What the server sends, and what it was asked for."""

    files: dict[str, bytes] = field(default_factory=dict)
    cut_after: int | None = None  # bytes of each body after which the connection closes
    requests: list[str] = field(default_factory=list)
    address: str = ""


class _Handler(BaseHTTPRequestHandler):
    def log_message(self, *arguments):
        pass

    def do_GET(self):
        site = self.server.site
        name = self.path.lstrip("/")
        site.requests.append(name)
        if name not in site.files:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(site.files[name])))
        self.end_headers()
        self.wfile.write(site.files[name][: site.cut_after])


@contextmanager
def serving(site):
    """Run the server in a thread."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        server.site = site
        site.address = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield site
        finally:
            server.shutdown()
            thread.join()
