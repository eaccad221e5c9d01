"""What keeps other sites from using a reader's session: forms count only if this page has made them."""

import hmac
import secrets

from kcodec.server.access.origin import is_same_origin
from kcodec.server.page.request import PageRequest, Refused

#: The cookie, and the field of every form, that hold the same token: another site can neither read nor set them.
COOKIE = "kcodec_page"
TOKEN = "token"

_MIN_LENGTH = 32


def token_of(request: PageRequest) -> tuple[str, bool]:
    """Return the token of a browser, and whether it is new to it."""
    known = request.cookie(COOKIE)
    if len(known) >= _MIN_LENGTH and known.replace("-", "").replace("_", "").isalnum() and known.isascii():
        return known, False
    return secrets.token_urlsafe(32), True


def token_cookie(token: str, request: PageRequest) -> tuple[str, str]:
    """Return the header that gives a browser its token."""
    secure = "; Secure" if request.scope.get("scheme") == "https" else ""
    return "set-cookie", f"{COOKIE}={token}; Path=/; HttpOnly; SameSite=Strict{secure}"


def check_form(request: PageRequest) -> None:
    """Refuse a form that another site has sent, or that does not have the browser's token."""
    headers = request.headers
    # Nobody types the address of a form that is sent.
    same = headers.get("sec-fetch-site") != "none" and is_same_origin(
        headers.get("sec-fetch-site"), headers.get("origin"), headers.get("host")
    )
    if not same:
        raise Refused(403, "This form was sent from another site. Nothing has been changed.")
    known, given = request.cookie(COOKIE), request.form.text(TOKEN)
    if len(known) < _MIN_LENGTH or not hmac.compare_digest(known.encode(), given.encode()):
        raise Refused(
            403,
            "This form does not belong to your browser's session, or cookies are off. Nothing has been changed: "
            "go back, reload the page and send it again.",
        )
