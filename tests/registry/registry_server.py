"""The registry's server in this process, on loopback, with a record of what it is asked."""

import json
import tempfile
import threading
import time
from contextlib import contextmanager
from urllib.parse import unquote

import uvicorn

from kcodec.server.access.passwords import hashed
from kcodec.server.application import RegistryApplication
from kcodec.server.process import options
from kcodec.server.settings import ServerSettings


class Recorded:
    """The application, and what tests know of it.

    Attributes
    ----------
    url : str
        Its address.
    requests : list of str
        Methods and paths, as they came.
    associations : dict
        Topics and subjects: what the registry answers of itself is nothing.
    """

    def __init__(self, application, old):
        self.application, self.old = application, old
        self.requests, self.associations = [], {}
        self.url = ""

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            await self.application(scope, receive, send)
            return
        path = scope["raw_path"].decode()
        self.requests.append(f"{scope['method']} {path}")
        topic = unquote(path.rpartition("/")[2])
        if path.startswith("/associations/") and topic in self.associations:
            answer = [{"subject": subject} for subject in self.associations[topic]]
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": json.dumps(answer).encode()})
        elif self.old and (scope["method"], path.rpartition("/")[2]) == ("POST", "versions"):
            await self.application(scope, receive, _with_id_alone(send))
        else:
            await self.application(scope, receive, send)


def _with_id_alone(send):
    """Answer a registration as servers before 8.0 do."""

    async def sending(message):
        if message["type"] == "http.response.start":
            message["headers"] = [each for each in message["headers"] if each[0] != b"content-length"]
        elif "id" in (found := json.loads(message["body"])):
            message["body"] = json.dumps({"id": found["id"]}).encode()
        await send(message)

    return sending


@contextmanager
def running(application, settings, loop="auto"):
    """Run an application on one of uvicorn's event loops; gives its address."""
    config = uvicorn.Config(application, **{**options(settings), "port": 0, "loop": loop})
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        end = time.monotonic() + 30
        while not server.started:
            assert thread.is_alive(), "the server did not start"
            assert time.monotonic() < end
            time.sleep(0.002)
        scheme = "https" if settings.certificate else "http"
        yield f"{scheme}://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(30)
        assert not thread.is_alive()


@contextmanager
def serve(registry, *, password=None, old=False, settings=None):
    """Serve a registry on a free port; ``password`` is the name and the password of the only user."""
    with access_of(password) as access:
        settings = settings or ServerSettings(registry.url, access=access, access_log=False)
        recorded = Recorded(RegistryApplication(registry, settings), old)
        with running(recorded, settings) as recorded.url:
            yield recorded


@contextmanager
def access_of(password):
    """Write a file with a user who may do everything."""
    if password is None:
        yield None
        return
    name, _, secret = password.partition(":")
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump({"users": {name: hashed(secret)}, "grants": [{"role": "admin", "users": [name]}]}, file)
        file.flush()
        yield file.name
