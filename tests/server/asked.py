"""The application, asked without a connection."""

import asyncio
import json
from urllib.parse import quote

from kcodec.registry.memory import MemoryRegistry
from kcodec.server.application import RegistryApplication
from kcodec.server.settings import ServerSettings

TYPE = "application/vnd.schemaregistry.v1+json"


class Answer:
    """Status, headers and body of an answer."""

    def __init__(self, status, headers, data):
        self.status, self.data = status, data
        self.headers = {name.decode(): value.decode() for name, value in headers}

    @property
    def json(self):
        return json.loads(self.data)

    @property
    def fault(self):
        """Status, code and message of a refusal."""
        assert self.json.keys() == {"error_code", "message"}
        return self.status, self.json["error_code"], self.json["message"]


class Asked:
    """An application over a registry; a call sends a request and returns the answer."""

    def __init__(self, registry=None, **settings):
        self.registry = registry or MemoryRegistry()
        given = {"url": self.registry.url, "access_log": False, **settings}
        self.application = RegistryApplication(self.registry, ServerSettings(**given))
        self.loop = asyncio.new_event_loop()

    def __call__(self, *request, **more):
        return self.loop.run_until_complete(self.sent(*request, **more))

    async def sent(self, method, target, body=None, headers=(), parts=None):
        raw = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        given = dict(headers)
        if raw or parts:
            given.setdefault("content-type", TYPE)
        path, _, query = target.partition("?")
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": [
                (name.encode(), value.encode()) for name, value in given.items() if value is not None
            ],
            "client": ("192.0.2.1", 1234),
        }
        parts = [raw] if parts is None else parts
        sent = []
        waiting = [
            {"type": "http.request", "body": part, "more_body": number < len(parts)}
            for number, part in enumerate(parts, 1)
        ]

        async def receive():
            if not waiting:
                await asyncio.sleep(3600)
            return waiting.pop(0)

        async def send(message):
            sent.append(message)

        await self.application(scope, receive, send)
        start, *bodies = sent
        return Answer(start["status"], start["headers"], b"".join(each["body"] for each in bodies))

    def register(self, subject, text='"int"', **body):
        return self("POST", f"/subjects/{quote(subject, safe='')}/versions", {"schema": text, **body})

    def stop(self):
        """Stop the application, as a server does."""

        async def receive():
            return {"type": "lifespan.shutdown"}

        async def send(message):
            assert message == {"type": "lifespan.shutdown.complete"}

        self.loop.run_until_complete(self.application({"type": "lifespan"}, receive, send))
        self.close()

    def close(self):
        self.loop.close()
