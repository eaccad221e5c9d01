"""The pages by which a browser shows a name and forgets it: it keeps both itself, and asks when it is answered 401."""

from __future__ import annotations

from kcodec.server.page.request import Refused, Response
from kcodec.server.page.visit import Visit


def login(visit: Visit) -> Response:
    """Have the browser ask for a name, where pages are shown without one."""
    if visit.signs_in and not visit.user:
        raise Refused(401, "Nobody is signed in. Open this page again to show your name and password.")
    return visit.go("")


def logout(visit: Visit) -> Response:
    """Have the browser forget a name, which it does when it is refused; with another one it goes on."""
    if visit.user and visit.user == visit.request.query.text("user"):
        raise Refused(401, f"{visit.user} is signed out of this browser.")
    return visit.go("")
