"""The server as processes: uvicorn, its workers and what they log."""

import json
import os
from typing import Any

import uvicorn

from kcodec.registry import open as open_registry
from kcodec.registry.embedded import EmbeddedRegistry
from kcodec.registry.server.application import RegistryApplication
from kcodec.registry.server.connection import BoundedProtocol
from kcodec.registry.server.settings import ServerSettings

__all__ = ["application", "options", "serve"]

#: Where workers find the settings.
_VARIABLE = "KCODEC_REGISTRY_SERVER"

#: Seconds that requests have to end after a signal to stop.
_GRACE = 10


def options(settings: ServerSettings) -> dict[str, Any]:
    """Return uvicorn's options for settings."""
    return {
        "host": settings.host,
        "port": settings.port,
        "http": BoundedProtocol,
        "ws": "none",
        "interface": "asgi3",
        "lifespan": "on",
        "log_config": None,
        "access_log": False,
        "server_header": False,
        "proxy_headers": False,
        "limit_concurrency": settings.max_connections,
        "timeout_keep_alive": settings.idle_timeout,
        "timeout_graceful_shutdown": _GRACE,
        "backlog": 2048,
        "ssl_certfile": settings.certificate,
        "ssl_keyfile": settings.key,
        "ssl_keyfile_password": settings.key_password,
        "ssl_ca_certs": settings.client_authority,
        "ssl_cert_reqs": 2 if settings.client_authority else 0,
    }


def serve(settings: ServerSettings) -> None:
    """Serve a registry until a signal stops it."""
    os.environ[_VARIABLE] = settings.json
    uvicorn.run(f"{__name__}:application", factory=True, workers=settings.workers, **options(settings))


def application() -> RegistryApplication:
    """Return the application of this process."""
    settings = ServerSettings(**json.loads(os.environ[_VARIABLE]))
    registry = open_registry(settings.url)
    assert isinstance(registry, EmbeddedRegistry)
    return RegistryApplication(registry, settings)
