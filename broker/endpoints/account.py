"""`/login`, `/logout` and `/grants`: a person's own grants, each with its end and a button."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from flask import Blueprint

from broker.endpoints import pages
from broker.endpoints.context import broker
from broker.errors import PageError
from broker.grants import login
from broker.store import grants

if TYPE_CHECKING:
    from werkzeug.wrappers import Response as WerkzeugResponse

blueprint = Blueprint("account", __name__)

_HOME = "/grants"
_THEN = re.compile(r"/grants|/authorize\?[\x21-\x7e]{1,4096}")


@blueprint.post("/login")
def log_in() -> WerkzeugResponse:
    """Check name and password, give a new session, go on to where the person was headed."""
    form = pages.checked_form()
    then = form.get("then", "")
    if not _THEN.fullmatch(then):
        raise PageError("then: not an address of this server.")
    session = login.log_in(broker(), user=form.get("user", ""), password=form.get("password", ""))
    if session is None:
        return pages.login_page(
            then=then, status=403, message="Name and password do not belong together."
        )
    response = pages.go(then)
    pages.set_cookie(response, session)
    return response


@blueprint.post("/logout")
def log_out() -> WerkzeugResponse:
    """End the session."""
    pages.checked_form()
    login.log_out(broker(), pages.cookie())
    return pages.go(_HOME)


@blueprint.get(_HOME)
def mine() -> WerkzeugResponse:
    """List the grants of the person logged in."""
    user = login.user_of(broker(), pages.cookie())
    if user is None:
        return pages.login_page(then=_HOME)
    now = broker().clock()
    with broker().store.read() as connection:
        found = grants.all_grants(connection, user=user)
    rows = [
        {
            "grant": grant,
            "until": datetime.fromtimestamp(grant.expires_at, tz=UTC).strftime(
                "%Y-%m-%d %H:%M UTC"
            ),
            "status": "expired" if grant.expires_at <= now else grant.status,
        }
        for grant in found
    ]
    return pages.page("grants.html", user=user, rows=rows, csrf=login.csrf_token(pages.cookie()))


@blueprint.post("/grants/revoke")
def revoke() -> WerkzeugResponse:
    """Revoke one grant of the person logged in; another's is left alone."""
    form, user = pages.checked_form(), pages.logged_in()
    with broker().store.write() as connection:
        grants.revoke(connection, form.get("grant", ""), user=user)
    return pages.go(_HOME)
