"""A server of a test's own, on loopback, that answers as the test wants."""

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@contextmanager
def answering(answer, tls=None, version="HTTP/1.1"):
    """Serve what a function of the handler writes; gives the server: its `url`, and what requests it has `seen`."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = version
        # Otherwise a body waits until the headers are acknowledged, which the other side delays by 40 ms.
        disable_nagle_algorithm = True

        def handle_any(self):
            self.content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.server.seen.append((self.path, dict(self.headers), self.content))
            answer(self)

        do_GET = do_POST = do_PUT = do_DELETE = do_CONNECT = handle_any

        def log_message(self, *arguments):
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False

        def handle_error(self, *arguments):
            pass

    server = Server(("127.0.0.1", 0), Handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    server.seen = []
    server.url = f"{'http' if tls is None else 'https'}://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def send(handler, status, headers, body):
    """Send an answer, with the length of its body."""
    handler.send_response(status)
    for name, value in {**headers, "Content-Length": str(len(body))}.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(body)


def whole(status, body, kind="application/json", **headers):
    """Return an answer of the test server."""
    return lambda handler: send(handler, status, {"Content-Type": kind, **headers}, body)
