"""One API call: a credential minted for it, one request, the answer.

The grant is found by broker user, agent, audience and scope; the credential is good for exactly
this method, URL and body; the request is sent once, as it was decided, and never again by itself.
When the connection breaks after sending, a call that may change something is `unknown`.

The token is in the request's header and nowhere else: an API that echoes it gets it replaced
before anything looks at the answer, and what is told of it is `jti`, audience, scope and expiry.

Source: RFC 6750 sections 2.1 and 5.3, RFC 9110 section 9.2.1 (safe methods).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from gateway.errors import ConfigError, ExecutionError
from gateway.execute import bounded
from gateway.execute.credential import Broker, Credential
from gateway.execute.grants import Grants
from gateway.execute.secret import Secret
from gateway.model.names import Json, Status
from gateway.model.outcome import Result
from gateway.model.permit import Permit
from gateway.model.plan import CallApi

_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_REDACTED: Final = b"[redacted]"
_TELLING: Final = 8  # fewer characters of a token at a cut end tell nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """Calls APIs through one broker. `users`: operating system user to broker user."""

    broker: Broker
    grants: Grants
    users: Mapping[str, str]
    monotonic: Callable[[], float] = time.monotonic

    def call(self, plan: CallApi, permit: Permit) -> Result:
        """Mint a credential for the permit and make the one call.

        Raises:
            ExecutionError: nothing was sent to the API.
        """
        obligations = permit.decision.obligations
        deadline = self.monotonic() + obligations.call_timeout_s
        if not bounded.is_safe_place(plan.url):
            message = f"{plan.audience}: its base URL must be https, or http on this machine"
            raise ExecutionError("config_invalid", message, status=Status.NOT_STARTED)
        credential = self._credential(plan, permit, deadline)
        request = bounded.Request(
            method=plan.method,
            url=plan.url,
            headers=_headers(plan, credential.token),
            body=plan.body,
        )
        limit = obligations.read_bytes
        try:
            reply = bounded.send(request, max_bytes=limit, timeout_s=deadline - self.monotonic())
        except bounded.Failure as failure:
            return _failed(plan, credential, failure)
        return _answered(plan, credential, reply, limit)

    def _credential(self, plan: CallApi, permit: Permit, deadline: float) -> Credential:
        caller = permit.caller
        user = self.users.get(caller.user)
        if user is None or caller.agent is None:
            missing = "broker user" if user is None else "agent name"
            message = f"no {missing} is configured for user {caller.user!r} at this door"
            raise ExecutionError("grant_missing", message, status=Status.NOT_STARTED)
        try:
            grant = self.grants.find(
                user=user, agent=caller.agent, audience=plan.audience, scope=plan.scope
            )
            return self.broker.exchange(
                plan, permit, handle=grant.handle, timeout_s=deadline - self.monotonic()
            )
        except ConfigError as error:
            raise ExecutionError(error.code, str(error), status=Status.NOT_STARTED) from None


def redact(body: bytes, token: Secret) -> bytes:
    """Replace a token in an answer, its signature alone, and the start of either at a cut end."""
    value = token.reveal().encode()
    for part in (value, value.rpartition(b".")[2]):
        body = body.replace(part, _REDACTED)
        for length in range(min(len(part), len(body)), _TELLING - 1, -1):
            if body.endswith(part[:length]):
                body = body[:-length] + _REDACTED
                break
    return body


def _headers(plan: CallApi, token: Secret) -> dict[str, str]:
    headers = {"Authorization": f"Bearer {token.reveal()}"}
    if plan.body is not None:
        headers["Content-Type"] = "application/json"
    return headers


def _answered(plan: CallApi, credential: Credential, reply: bounded.Reply, limit: int) -> Result:
    content = redact(reply.body, credential.token)
    data: dict[str, Json] = {**credential.facts, "http_status": reply.status}
    status, reason, message = _judge(plan, reply.status)
    return Result(
        status=status,
        content=b"" if reason == "api_unavailable" else content[:limit],
        data=data,
        reason=reason,
        message=message,
        truncated=not reply.whole,
    )


def _judge(plan: CallApi, http_status: int) -> tuple[Status, str, str]:
    if http_status // 100 == 2:  # noqa: PLR2004 - HTTP classes
        return Status.DONE, "done", ""
    if http_status // 100 == 4:  # noqa: PLR2004
        message = f"{plan.audience} refused {plan.api_operation}: HTTP {http_status}"
        return Status.FAILED, "api_refused", message
    message = f"{plan.audience} answered HTTP {http_status}"
    return Status.FAILED, "api_unavailable", message


def _failed(plan: CallApi, credential: Credential, failure: bounded.Failure) -> Result:
    if not failure.sent:
        status, what = Status.NOT_STARTED, "could not be reached; nothing was sent"
    elif plan.method in _SAFE:
        status, what = Status.FAILED, "gave no whole answer"
    else:
        status, what = Status.UNKNOWN, "gave no whole answer; the call may have had an effect"
    return Result(
        status=status,
        data=dict(credential.facts),
        reason="timeout" if failure.timeout and failure.sent else "api_unavailable",
        message=f"{plan.audience} {what}; it is not retried",
    )
