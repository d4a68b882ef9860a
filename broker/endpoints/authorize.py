"""`/authorize`: log in, see who asks for what and until when, allow or deny.

Source: RFC 6749 section 4.1, RFC 9207 (iss in every response), RFC 9700 section 4.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import Blueprint, request

from broker.endpoints import ingress, pages
from broker.endpoints.context import broker
from broker.errors import InvalidRequestError, PageError, RedirectError
from broker.grants import authorization, consent, login, redirect

if TYPE_CHECKING:
    from flask import Response
    from werkzeug.wrappers import Response as WerkzeugResponse

    from broker.grants.authorization import AuthorizationRequest

blueprint = Blueprint("authorize", __name__)


@blueprint.get("/authorize")
def ask() -> WerkzeugResponse:
    """Check the request, then show the login or the consent page."""
    try:
        query = ingress.query()
    except InvalidRequestError as error:
        raise PageError(str(error)) from None
    back = authorization.find_return_path(broker(), query)
    try:
        asked = authorization.check(broker().config, back, query)
    except RedirectError as error:
        answer = {
            "error": error.error,
            "error_description": str(error),
            "state": back.state,
            "iss": broker().config.issuer,
        }
        return pages.go(redirect.answer(back.redirect_uri, answer))
    user = login.user_of(broker(), pages.cookie())
    if user is None:
        return pages.login_page(then=f"/authorize?{request.query_string.decode('ascii')}")
    return _consent_page(asked, user)


@blueprint.post("/authorize")
def decide() -> WerkzeugResponse:
    """Carry out what the person chose on the page."""
    form, user, session = pages.checked_form(), pages.logged_in(), pages.cookie()
    opened = form.get("consent", "")
    match form.get("decision"):
        case "allow":
            return pages.go(
                consent.allow(
                    broker(),
                    consent=opened,
                    session=session,
                    user=user,
                    until=form.get("until", ""),
                )
            )
        case "deny":
            return pages.go(consent.deny(broker(), consent=opened, session=session))
        case _:
            raise PageError("decision: choose allow or deny.")


def _consent_page(asked: AuthorizationRequest, user: str) -> Response:
    config, session = broker().config, pages.cookie()
    shown = [
        (
            name,
            config.catalogue[name].base_url,
            [(s, config.catalogue[name].scopes[s]) for s in own],
        )
        for name, own in config.audiences(asked.scopes).items()
    ]
    return pages.page(
        "consent.html",
        form_to=redirect.origin(asked.redirect_uri),
        asked=asked,
        user=user,
        audiences=shown,
        host=redirect.host(asked.redirect_uri),
        loopback=redirect.is_loopback(asked.redirect_uri),
        last_day=consent.last_day(broker()).isoformat(),
        consent=consent.open_page(broker(), asked, session=session),
        csrf=login.csrf_token(session),
    )
