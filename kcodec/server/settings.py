"""What the server is told at its start."""

import json
import math
from dataclasses import asdict, dataclass, field

from kcodec.errors import ConfigError

#: Settings that are numbers, and the least and the most that they are.
_BOUNDS = (
    ("port", 0, 65535),
    ("max_body", 1, math.inf),
    ("max_bodies", 1, math.inf),
    ("max_schema", 1, math.inf),
    ("max_references", 0, math.inf),
    ("max_connections", 1, math.inf),
    ("timeout", 0.001, math.inf),
    ("idle_timeout", 0.001, math.inf),
)


@dataclass(frozen=True)
class ServerSettings:
    """How a registry is served.

    Attributes
    ----------
    url : str
        The registry: ``sqlite:///file`` or ``memory://scope``.
    host, port : str, int
        Where the server listens.
    workers : int
        How many processes answer; more than one share a file.
    access : str or None
        A file with users and roles, see `kcodec.server.access.users`; without it everybody may do everything.
    certificate, key, key_password : str or None
        Files in PEM for TLS, and what the key is encrypted with.
    client_authority : str or None
        Certificates in PEM: clients then need one that these have signed.
    allowed_hosts : tuple of str
        Names, without a port and in lower case, by which clients may call the server; none stands for any.
    max_body : int
        Bytes that the body of a request may have.
    max_bodies : int
        Bytes that the bodies of all requests under way may have in a worker, beside the first 64 KiB of each; further
        ones are answered with 503. One body that `max_body` allows always has room alone.
    max_schema : int
        Characters that a schema's text may have.
    max_references : int
        References that a schema may have.
    max_connections : int
        Connections that a worker keeps open at once; further ones are answered with 503.
    timeout : float
        Seconds in which a request has come in, is answered, and its answer is taken.
    idle_timeout : float
        Seconds that a connection stays open between requests.
    broker : dict of str to str, optional
        Settings of a client of Kafka, under their names in librdkafka or Java's clients: pages then show the topics of
        its ``bootstrap.servers``.
    access_log : bool
        Whether each request is written to the standard output, as a line of JSON.
    """

    url: str = "sqlite:///schemas.db"
    host: str = "127.0.0.1"
    port: int = 8081
    workers: int = 1
    access: str | None = None
    certificate: str | None = None
    key: str | None = None
    key_password: str | None = field(default=None, repr=False)
    client_authority: str | None = None
    allowed_hosts: tuple[str, ...] = ()
    max_body: int = 16 << 20
    max_bodies: int = 32 << 20
    max_schema: int = 8 << 20
    max_references: int = 1000
    max_connections: int = 1000
    timeout: float = 60.0
    idle_timeout: float = 75.0
    broker: dict[str, str] | None = field(default=None, repr=False)
    access_log: bool = True

    def __post_init__(self) -> None:
        # A list, as JSON has it.
        object.__setattr__(self, "allowed_hosts", tuple(each.lower() for each in self.allowed_hosts))
        scheme = self.url.partition("://")[0]
        if scheme not in ("sqlite", "memory"):
            raise ConfigError(f"a server serves sqlite:///file or memory://scope, not {scheme}://")
        if self.workers > 1 and scheme == "memory":
            raise ConfigError("several workers need sqlite:///file: what is in memory is each one's own")
        if self.workers < 1:
            raise ConfigError("a server has at least one worker")
        for name in ("key", "key_password", "client_authority"):
            if self.certificate is None and getattr(self, name) is not None:
                raise ConfigError(f"{name} needs a certificate: without one there is no TLS")
        for name, lowest, highest in _BOUNDS:
            if not lowest <= getattr(self, name) <= highest:
                raise ConfigError(f"{name}={getattr(self, name)} is out of range")

    @property
    def json(self) -> str:
        """The settings as text, for another process."""
        return json.dumps(asdict(self))
