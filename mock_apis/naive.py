"""INSECURE ON PURPOSE: how agents are commonly connected to APIs. For comparison, loopback only.

One issuer signs everything with one key, and every API behind it checks the signature and nothing
else. Four holes, each a function that says what it leaves out:

1. `accept_any_signed_token`: a scope that stays open (no audience, no scope, no call, 90 days).
2. `refresh_forever`: the refresh token handed to the agent is permanent access.
3. `accept_identity_as_access`: a sign-in assertion opens the API.
4. `act_with_own_credential`: a tool server holding everybody's access acts for anybody.

The attacks on this module must WORK; the same attacks on the broker's resource servers must not.

Source: RFC 9700 §2.3 (audience and scope restriction), §4.14 (refresh tokens); OpenID Connect Core
§2 (what an ID token is for); RFC 8693 §1.1 (delegation); Hardy 1988 (the confused deputy).
"""

from __future__ import annotations

import hmac
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import asdict
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from flask import Flask, Response, jsonify, request
from werkzeug.exceptions import BadRequest

from mock_apis import calendar, mail
from mock_apis.journal import NO_EFFECT, Entry, Journal
from mock_apis.service import plain_app

if TYPE_CHECKING:
    from collections.abc import Callable

NINETY_DAYS_S = 90 * 24 * 3600

Claims = dict[str, Any]


class NaiveIssuer:
    """Signs access tokens and sign-in assertions with one key; forgets nothing, revokes nothing."""

    def __init__(
        self, *, key: bytes, clock: Callable[[], int], new_secret: Callable[[], str]
    ) -> None:
        self._key = key
        self._clock = clock
        self._new_secret = new_secret
        self._refresh: dict[str, Claims] = {}
        self._disconnected: set[str] = set()

    def sign(self, claims: Claims) -> str:
        """Return `header.claims.signature`, HMAC-SHA256 with the shared key."""
        signed = f"{_pack({'alg': 'HS256', 'typ': 'JWT'})}.{_pack(claims)}"
        return f"{signed}.{self._mac(signed)}"

    def access_token(self, claims: Claims) -> str:
        """Return an access token good for 90 days."""
        return self.sign({**claims, "exp": self._clock() + NINETY_DAYS_S})

    def identity(self, user: str) -> str:
        """Return a sign-in assertion: it tells a web page who is there, and grants nothing."""
        return self.sign({"sub": user, "aud": "web-login", "exp": self._clock() + NINETY_DAYS_S})

    def refresh_token(self, claims: Claims) -> str:
        """Return a refresh token that no one will ever take back."""
        token = self._new_secret()
        self._refresh[token] = claims
        return token

    def disconnect(self, user: str) -> None:
        """Hole 2, the other half: note a revocation that no check ever looks at."""
        self._disconnected.add(user)

    def refresh_forever(self, refresh_token: str) -> str | None:
        """Hole 2: whoever holds the string gets 90 more days.

        Left out: client authentication, rotation, an end, and a look at `disconnect`.
        """
        claims = self._refresh.get(refresh_token)
        return None if claims is None else self.access_token(claims)

    def accept_any_signed_token(self, token: str) -> Claims | None:
        """Hole 1: a good signature is a permission.

        Left out: audience, scope, the call it was meant for, revocation. `exp` is months ahead.
        """
        signed, _, mac = token.rpartition(".")
        if not hmac.compare_digest(mac.encode(), self._mac(signed).encode()):
            return None
        claims: Claims = _unpack(signed.partition(".")[2])
        return claims if claims["exp"] > self._clock() else None

    def accept_identity_as_access(self, token: str) -> Claims | None:
        """Hole 3: knowing who signed in is taken for being allowed.

        Left out: the kind of token. A sign-in assertion carries the same signature and a `sub`.
        """
        return self.accept_any_signed_token(token)

    def _mac(self, signed: str) -> str:
        return _b64(hmac.digest(self._key, signed.encode(), sha256))


class NaiveApi:
    """Calendar, mail and a tool server behind the naive issuer, with a journal."""

    def __init__(self, *, issuer: NaiveIssuer, journal: Journal) -> None:
        self._issuer = issuer
        self._journal = journal
        self._sent = 0

    def connect(self) -> Response:
        """Stand in for the consent page: the agent itself receives both tokens."""
        claims = {name: _field(name) for name in ("sub", "agent", "aud", "scope")}
        return jsonify(
            access_token=self._issuer.access_token(claims),
            refresh_token=self._issuer.refresh_token(claims),
        )

    def refresh(self) -> Response:
        """Hand out another access token (hole 2)."""
        token = self._issuer.refresh_forever(_field("refresh_token"))
        return self._refused("token.refresh") if token is None else jsonify(access_token=token)

    def disconnect(self) -> Response:
        """Stand in for the page where a user takes access back."""
        self._issuer.disconnect(_field("sub"))
        return jsonify(disconnected=True)

    def sign_in(self) -> Response:
        """Give a web page its sign-in assertion."""
        return jsonify(id_token=self._issuer.identity(_field("sub")))

    def events(self) -> Response:
        """List events (hole 1)."""
        claims = self._issuer.accept_any_signed_token(_bearer())
        if claims is None:
            return self._refused("events.read")
        self._accepted("events.read", claims)
        return jsonify(events=[asdict(event) for event in calendar.SEED])

    def send(self) -> Response:
        """Send a message (hole 3)."""
        claims = self._issuer.accept_identity_as_access(_bearer())
        if claims is None:
            return self._refused("messages.send")
        self._sent += 1
        self._accepted("messages.send", claims, effect=f"sent message s-{self._sent}")
        return jsonify(id=f"s-{self._sent}")

    def read_mail(self) -> Response:
        """Read a mailbox through the tool server (hole 4)."""
        user = _field("user")
        messages = act_with_own_credential(user)
        self._accepted("tool.read_mail", {"sub": user})
        return jsonify(messages=messages)

    def _accepted(self, operation: str, claims: Claims, effect: str = NO_EFFECT) -> None:
        self._journal.write(
            Entry(
                outcome="accepted",
                status=200,
                operation=operation,
                sub=claims["sub"],
                agent=claims.get("agent"),
                effect=effect,
            )
        )

    def _refused(self, operation: str) -> Response:
        self._journal.write(
            Entry(outcome="refused", status=401, reason="unknown_token", operation=operation)
        )
        response = jsonify(error="invalid_token")
        response.status_code = 401
        return response


def act_with_own_credential(wanted_user: str) -> list[dict[str, Any]]:
    """Hole 4: the tool server reads any mailbox with access of its own.

    Left out: who is asking, and on whose behalf; the caller only names a user.
    """
    return [{**asdict(message), "owner": wanted_user} for message in mail.SEED]


def create_app(*, issuer: NaiveIssuer, journal: Journal) -> Flask:
    """Return the insecure API."""
    app = plain_app("naive", journal)
    api = NaiveApi(issuer=issuer, journal=journal)
    for method, path, view in (
        ("POST", "/connect", api.connect),
        ("POST", "/refresh", api.refresh),
        ("POST", "/disconnect", api.disconnect),
        ("POST", "/sign-in", api.sign_in),
        ("GET", "/v1/events", api.events),
        ("POST", "/v1/messages/send", api.send),
        ("POST", "/tools/read_mail", api.read_mail),
    ):
        app.add_url_rule(path, endpoint=path, view_func=view, methods=[method])
    return app


def _bearer() -> str:
    return request.headers.get("Authorization", "").removeprefix("Bearer ")


def _field(name: str) -> str:
    body = request.get_json()
    if not isinstance(body, dict) or not isinstance(body.get(name), str):
        raise BadRequest
    return str(body[name])


def _pack(value: Claims) -> str:
    return _b64(json.dumps(value).encode())


def _unpack(part: str) -> Claims:
    claims: Claims = json.loads(urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    return claims


def _b64(raw: bytes) -> str:
    return urlsafe_b64encode(raw).decode().rstrip("=")
