"""Read an introspection answer strictly: every member as docs/wire.md types it, or no verdict.

`active` must be the boolean `true`; `"true"` and `1` are not. `aud` and `scope` are strings, never
arrays; times are integers, never floats, strings or booleans; a life over 300 s is not ours.
Exactly one `counterfoil_call` with exactly its own members. Duplicate members, NaN, deep
nesting, other encodings than UTF-8: refused. Members the RFC lets a server add are ignored, except
`cnf`: it binds the token to a key, which a Bearer check cannot see.

Source: RFC 7662 §2.2, RFC 9396 §9.2, RFC 7800 §3.1 (`cnf`), RFC 8259 §4 (duplicate names).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from broker.resource.model import BrokerFaultError, DecidedCall, Reason, TokenFacts
from broker.tokens import strict_json

MAX_LIFE_S = 300

_Text = Annotated[str, Field(pattern=r"^[\x21-\x7e]{1,256}$")]
_Uri = Annotated[str, Field(pattern=r"^[\x21-\x7e]{1,8192}$")]
_Hex = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
_Digest = Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]
_Time = Annotated[int, Field(ge=0, le=1 << 53)]


class _Call(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    type: Literal["counterfoil_call"]
    decision_id: _Text
    action_digest: _Digest
    operation: _Text
    method: _Text
    uri: _Uri
    content_sha256: _Hex


class _Act(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    sub: _Text


class _Answer(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)

    token_type: Literal["Bearer"]
    iss: _Text
    aud: _Text
    sub: _Text
    act: _Act
    client_id: _Text
    scope: _Text
    jti: _Text
    gid: _Text
    iat: _Time
    exp: _Time
    authorization_details: Annotated[list[_Call], Field(min_length=1, max_length=1)]


def parse(raw: bytes) -> TokenFacts | None:
    """Return what the broker says of an active token, None if inactive; raise if unreadable."""
    answer = _object(raw)
    active = answer.get("active")
    if active is False:
        return None
    if active is not True:
        raise BrokerFaultError(Reason.BROKER_ANSWER, "active is not a boolean")
    try:
        checked = _Answer.model_validate(answer)
    except ValidationError as error:
        where = ".".join(str(part) for part in error.errors(include_input=False)[0]["loc"])
        raise BrokerFaultError(Reason.BROKER_ANSWER, f"member {where}") from None
    if not 0 < checked.exp - checked.iat <= MAX_LIFE_S:
        raise BrokerFaultError(Reason.BROKER_ANSWER, f"exp - iat is not 1 to {MAX_LIFE_S} s")
    call = checked.authorization_details[0]
    return TokenFacts(
        issuer=checked.iss,
        audience=checked.aud,
        sub=checked.sub,
        agent=checked.act.sub,
        client_id=checked.client_id,
        grant_id=checked.gid,
        jti=checked.jti,
        scope=checked.scope,
        issued_at=checked.iat,
        expires_at=checked.exp,
        sender_constrained="cnf" in answer,
        call=DecidedCall(
            decision_id=call.decision_id,
            action_digest=call.action_digest,
            operation=call.operation,
            method=call.method,
            uri=call.uri,
            content_sha256=call.content_sha256,
        ),
    )


def _object(raw: bytes) -> dict[str, Any]:
    try:
        value = strict_json.loads(raw, max_bytes=len(raw))
    except ValueError as error:
        raise BrokerFaultError(Reason.BROKER_ANSWER, str(error)) from None
    if not isinstance(value, dict):
        raise BrokerFaultError(Reason.BROKER_ANSWER, "not a JSON object")
    return value
