"""What the pages share: rendering, the session cookie, the CSRF check, protective headers.

Pages carry no script, no foreign resource, cannot be framed and submit only to the broker (and, by
redirect, to the one redirect origin the person is being shown). Templates escape everything.

Source: RFC 9700 section 4.16 (clickjacking), CSP Level 3, RFC 6265.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flask import make_response, redirect, render_template, request

from broker.endpoints import ingress
from broker.endpoints.context import broker
from broker.errors import InvalidRequestError, PageError
from broker.grants import login

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flask import Response
    from werkzeug.wrappers import Response as WerkzeugResponse

COOKIE = "counterfoil_session"
_CSP = (
    "default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none';"
    " form-action 'self'"
)


def cookie() -> str:
    """Read the session cookie; empty when there is none."""
    return request.cookies.get(COOKIE, "")


def page(template: str, *, status: int = 200, form_to: str = "", **values: Any) -> Response:
    """Render a page; its forms may end at `form_to` besides the broker itself."""
    response = make_response(render_template(template, **values), status)
    response.headers["Content-Security-Policy"] = f"{_CSP} {form_to}".rstrip()
    response.headers["X-Frame-Options"] = "DENY"
    response.headers["Referrer-Policy"] = "no-referrer"
    return response


def login_page(*, then: str, status: int = 200, message: str = "") -> Response:
    """Render the login form, in a session of its own when the browser has none."""
    session = cookie() or broker().new_secret()
    response = page(
        "login.html",
        status=status,
        csrf=login.csrf_token(session),
        then=then,
        message=message,
    )
    set_cookie(response, session)
    return response


def go(address: str) -> WerkzeugResponse:
    """Send the browser on with a GET, never repeating the POST (303)."""
    response = redirect(address, code=303)
    response.headers["Referrer-Policy"] = "no-referrer"
    return response


def set_cookie(response: WerkzeugResponse, value: str) -> None:
    """Set the session cookie: not for scripts, not for cross-site posts, https where we are."""
    response.set_cookie(
        COOKIE,
        value,
        httponly=True,
        samesite="Lax",
        secure=broker().config.issuer.startswith("https:"),
        path="/",
    )


def checked_form() -> Mapping[str, str]:
    """Read the form of a page; refuse it unless it carries this session's CSRF token."""
    try:
        form = ingress.form()
    except InvalidRequestError as error:
        raise PageError(str(error)) from None
    if not login.csrf_fits(cookie(), form.get("csrf", "")):
        raise PageError("This form is not of this session. Load the page again.", status=403)
    return form


def logged_in() -> str:
    """Name the person logged in; raises PageError when nobody is."""
    user = login.user_of(broker(), cookie())
    if user is None:
        raise PageError("You are not logged in, or the session has ended.", status=403)
    return user
