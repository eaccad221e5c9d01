"""Where a request comes from: whether another site made a browser send it, and which host name it asks for."""

from collections.abc import Sequence
from urllib.parse import urlsplit

from kcodec.server.api.request import refuse
from kcodec.server.exchange import Exchange

#: What a browser says of a request that no other site has had it send.
_OWN_SITES = ("same-origin", "none")


def check_origin(exchange: Exchange) -> None:
    """Refuse (403) a change that another site has a browser send."""
    site, origin, host = (exchange.header(name) or None for name in (b"sec-fetch-site", b"origin", b"host"))
    if not is_same_origin(site, origin, host):
        refuse(403, "This request was sent from another site", 403)


def is_same_origin(site: str | None, origin: str | None, host: str | None) -> bool:
    """Return whether a request comes from this server's own pages, or without the headers that browsers send.

    These are Sec-Fetch-Site, which no page can make up, and Origin, which older browsers send alone.

    >>> is_same_origin(None, "http://here:8081", "here:8081"), is_same_origin(None, "null", "here:8081")
    (True, False)
    >>> is_same_origin("cross-site", None, "here:8081"), is_same_origin(None, None, "here:8081")
    (False, True)
    """
    if site is not None:
        return site in _OWN_SITES
    if origin is None:
        return True
    try:
        return host is not None and urlsplit(origin).netloc.lower() == host.lower()
    except ValueError:
        return False


def check_host(exchange: Exchange, allowed: Sequence[str]) -> None:
    """Refuse (421) a request for a host name that is not allowed; without a list of names, all are.

    A name that belongs to another site, and leads to this machine, makes a browser take both for one.
    """
    if not allowed:
        return
    host = exchange.header(b"host").lower()
    name, _, port = host.rpartition(":")
    if host and (name if name and port.isdecimal() else host) not in allowed:
        refuse(421)
