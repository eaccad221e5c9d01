"""The server as processes: uvicorn, its workers and what they log."""

import gc
import json
import logging
import multiprocessing
import os
import signal
import socket
import ssl
import sys
import tempfile
import threading
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import uvicorn

from kcodec.errors import ConfigError
from kcodec.registry import open as open_registry
from kcodec.registry.embedded import EmbeddedRegistry
from kcodec.server import access_log
from kcodec.server.access.users import Access
from kcodec.server.application import RegistryApplication
from kcodec.server.connection import BoundedProtocol
from kcodec.server.metrics import SHARED
from kcodec.server.settings import ServerSettings

#: Where workers find the settings.
_VARIABLE = "KCODEC_REGISTRY_SERVER"

#: Where nobody listens but this machine.
_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")

#: Seconds that requests have to end after a signal to stop.
_GRACE = 2

#: The status of a server that could not start, as uvicorn has it.
_NOT_STARTED = 3

#: Objects after which the collector of garbage looks for cycles.
_YOUNG_OBJECTS = 50_000

_log = logging.getLogger("kcodec.server")


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
        "ssl_certfile": settings.certificate,
        "ssl_keyfile": settings.key,
        "ssl_keyfile_password": settings.key_password,
        "ssl_ca_certs": settings.client_authority,
        "ssl_cert_reqs": ssl.CERT_REQUIRED if settings.client_authority else ssl.CERT_NONE,
    }


def serve(settings: ServerSettings) -> None:
    """Serve a registry until a signal stops it; `ConfigError` or `RegistryError` if the settings cannot be used."""
    # What is wrong is told here once, rather than by each worker.
    if settings.access is not None:
        Access(settings.access)
    if settings.broker is not None:
        from kcodec.kafka.connection.settings import Settings

        Settings.of(settings.broker)
    _make_file(settings.url)
    _opened(settings).close()
    _check_tls(settings)
    if not settings.allowed_hosts and settings.access is None and settings.host in _THIS_MACHINE:
        # Here everybody may do everything: no site may lead a browser here by a name of its own.
        settings = replace(settings, allowed_hosts=(*_THIS_MACHINE, "[::1]"))
    os.environ[_VARIABLE] = settings.json
    with tempfile.TemporaryDirectory(prefix="kcodec-metrics-") as folder:
        if settings.workers > 1:
            os.environ[SHARED] = folder
        _run(settings)


def _run(settings: ServerSettings) -> None:
    if settings.workers > 1:
        uvicorn.run(f"{__name__}:application", factory=True, workers=settings.workers, **options(settings))
        return
    # As uvicorn does it, but for the socket: it is there before the application says where it is served.
    config = uvicorn.Config(f"{__name__}:application", factory=True, **options(settings))
    server = uvicorn.Server(config)
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        bound = socket.create_server((settings.host, settings.port), family=family)
    except OSError as error:
        raise ConfigError(f"{settings.host}:{settings.port}: {error}") from None
    with suppress(KeyboardInterrupt), bound:
        server.run(sockets=[bound])
    if not server.started:
        sys.exit(_NOT_STARTED)


def application() -> RegistryApplication:
    """Return the application of this process, and have it logged what it does."""
    threading.Thread(target=_end_with_supervisor, daemon=True).start()
    settings = ServerSettings(**json.loads(os.environ[_VARIABLE]))
    errors = logging.StreamHandler(sys.stderr)
    errors.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    _log_to(logging.getLogger(), errors)
    _log_to(access_log.logger, access_log.TurnHandler(sys.stdout))
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
    made = RegistryApplication(_opened(settings), settings)
    # What is loaded by now stays. The many objects of a schema that is compared are no reason to look for cycles.
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG_OBJECTS)
    scheme = "https" if settings.certificate else "http"
    _log.info("%s at %s://%s:%d", settings.url, scheme, settings.host, settings.port)
    return made


def _end_with_supervisor() -> None:
    """Stop this process, if it is a worker, once the process that looks after the workers is gone.

    One that was killed could not tell them, and they would go on to hold the port, which nobody could then serve at.
    """
    supervisor = multiprocessing.parent_process()
    if supervisor is not None:
        supervisor.join()
        signal.raise_signal(signal.SIGTERM)


def _make_file(url: str) -> None:
    """Make a registry's file if it is missing, for its owner alone; SQLite's files beside it get the same rights."""
    path = url.removeprefix("sqlite:///")
    if path != url:
        with suppress(OSError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def _opened(settings: ServerSettings) -> EmbeddedRegistry:
    found = open_registry(settings.url)
    assert isinstance(found, EmbeddedRegistry)
    return found


def _check_tls(settings: ServerSettings) -> None:
    if settings.certificate is None:
        return
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    files = [file for file in (settings.certificate, settings.key) if file is not None]
    try:
        for file in files:
            # OpenSSL does not say which file is missing.
            Path(file).read_bytes()
        context.load_cert_chain(settings.certificate, settings.key, settings.key_password or "")
    except ssl.SSLError as error:
        hint = "are they a certificate and its key, as PEM, and is the key's password right?"
        raise ConfigError(f"{' and '.join(files)}: {error}; {hint}") from None
    except (OSError, ValueError) as error:
        raise ConfigError(f"{' and '.join(files)}: {error}") from None
    if settings.client_authority is None:
        return
    try:
        context.load_verify_locations(settings.client_authority)
    except (OSError, ValueError) as error:
        raise ConfigError(f"{settings.client_authority}: {error}") from None


def _log_to(logger: logging.Logger, handler: logging.Handler) -> None:
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
