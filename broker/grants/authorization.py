"""An authorization request, checked: who asks for which scopes, for which agent, and back to where.

Two stages, in this order. Until client and redirect URI are known to belong together nothing is
sent anywhere: a fault is shown to the person (PageError). After that a fault goes to the client
(RedirectError). PKCE with S256 is required; there is no plain and no request without it.

Source: RFC 6749 section 4.1.1, RFC 7636 section 4.3, RFC 9700 section 2.1.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Self

from broker.config import NAME, SCOPE
from broker.errors import PageError, RedirectError
from broker.grants import redirect
from broker.store import clients

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker.config import Config
    from broker.grants.context import Broker

MAX_PURPOSE = 200
_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")
_STATE = re.compile(r"[\x21-\x7e]{1,512}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReturnPath:
    """Where an answer may go: a redirect URI of this client, and the state to give back."""

    client: str
    redirect_uri: str
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorizationRequest:
    """A request that may be shown to a person; what is shown is what is granted."""

    client: str
    redirect_uri: str
    state: str
    challenge: str
    scopes: tuple[str, ...]
    agent: str
    purpose: str

    def to_json(self) -> str:
        """Write it for the consent's row."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote."""
        values = json.loads(text)
        return cls(**values | {"scopes": tuple(values["scopes"])})


def find_return_path(broker: Broker, query: Mapping[str, str]) -> ReturnPath:
    """Check client, redirect URI and state; raises PageError, since there is nowhere to go yet."""
    with broker.store.read() as connection:
        client = clients.get(connection, query.get("client_id", ""))
    if client is None or not client.enabled or client.kind != "gateway":
        raise PageError("client_id: no such client is registered here.")
    uri = query.get("redirect_uri", "")
    if not redirect.fits(uri, client.redirect_uris):
        raise PageError("redirect_uri: this address is not registered for this client.")
    state = query.get("state", "")
    if not _STATE.fullmatch(state):
        raise PageError("state: required, 1 to 512 visible ASCII characters.")
    return ReturnPath(client=client.id, redirect_uri=uri, state=state)


def check(config: Config, path: ReturnPath, query: Mapping[str, str]) -> AuthorizationRequest:
    """Check the rest of the request; raises RedirectError."""
    if query.get("response_type") != "code":
        raise RedirectError("unsupported_response_type", "response_type must be code")
    if query.get("code_challenge_method") != "S256":
        raise RedirectError("invalid_request", "code_challenge_method must be S256")
    if not _CHALLENGE.fullmatch(query.get("code_challenge", "")):
        raise RedirectError("invalid_request", "code_challenge must be 43 base64url characters")
    scopes = tuple(query.get("scope", "").split(" "))
    if len(set(scopes)) != len(scopes) or not all(SCOPE.fullmatch(scope) for scope in scopes):
        raise RedirectError("invalid_scope", "scope must be distinct names and single spaces")
    if unknown := [scope for scope in scopes if config.audience_of(scope) is None]:
        raise RedirectError("invalid_scope", f"scope {unknown[0]} is not in the catalogue")
    agent = query.get("agent", "")
    if not NAME.fullmatch(agent):
        raise RedirectError("invalid_request", "agent must be a short lower-case name")
    purpose = query.get("purpose", "")
    if len(purpose) > MAX_PURPOSE or not purpose.isprintable():
        raise RedirectError(
            "invalid_request", f"purpose must be {MAX_PURPOSE} printable characters"
        )
    return AuthorizationRequest(
        client=path.client,
        redirect_uri=path.redirect_uri,
        state=path.state,
        challenge=query["code_challenge"],
        scopes=scopes,
        agent=agent,
        purpose=purpose,
    )
