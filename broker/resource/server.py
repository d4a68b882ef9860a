"""The guard in front of a Flask view: all checks first, then the view, with the verified call.

Order: read the request, ask the broker, compare. The first failure answers; the view is not
entered. Refusals are told to `on_refusal` (a journal) before they are answered, with what the
token said when that is known and never the token itself. A view that raises is the application's
error; it had its permission.

Source: RFC 6750 §3 (WWW-Authenticate), RFC 9110 §15.6.4 (503), docs/wire.md 'What a resource
server checks'.
"""

from __future__ import annotations

import functools
import logging
from typing import TYPE_CHECKING, Concatenate, ParamSpec

from flask import Response, jsonify, request

from broker.resource import answer, check
from broker.resource import request as incoming
from broker.resource.introspection import Introspector
from broker.resource.model import (
    BrokerFaultError,
    Endpoint,
    Reason,
    Refusal,
    ResourceConfig,
    TokenFacts,
    VerifiedCall,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from flask.typing import ResponseReturnValue

P = ParamSpec("P")

_UNAVAILABLE = 503
_RETRY_AFTER_S = "1"
_log = logging.getLogger(__name__)


def _tell_nobody(_refusal: Refusal) -> None:
    """Do nothing: the default for a resource server without a journal."""


class ResourceServer:
    """One resource server: its name, its broker, its clock."""

    def __init__(
        self,
        config: ResourceConfig,
        *,
        assertion: Callable[[], str],
        clock: Callable[[], int],
        on_refusal: Callable[[Refusal], None] = _tell_nobody,
    ) -> None:
        self.config = config
        self._clock = clock
        self._on_refusal = on_refusal
        self._introspector = Introspector(config, assertion=assertion)

    def requires(
        self, *, operation: str, scope: str
    ) -> Callable[
        [Callable[Concatenate[VerifiedCall, P], ResponseReturnValue]],
        Callable[P, ResponseReturnValue],
    ]:
        """Guard a view: it runs only for a call decided for this operation and scope."""
        endpoint = Endpoint(operation=operation, scope=scope)

        def decorate(
            view: Callable[Concatenate[VerifiedCall, P], ResponseReturnValue],
        ) -> Callable[P, ResponseReturnValue]:
            @functools.wraps(view)
            def guarded(*args: P.args, **kwargs: P.kwargs) -> ResponseReturnValue:
                verdict = self.verify(endpoint)
                if isinstance(verdict, Refusal):
                    self._on_refusal(verdict)
                    return self._refuse(verdict)
                return view(verdict, *args, **kwargs)

            return guarded

        return decorate

    def verify(self, endpoint: Endpoint) -> VerifiedCall | Refusal:
        """Judge the current Flask request for this endpoint."""
        received = incoming.read(
            request, base_url=self.config.base_url, max_body_bytes=self.config.max_body_bytes
        )
        if isinstance(received, Reason):
            return Refusal(reason=received, endpoint=endpoint)
        token = self._introspect(received.token)
        if isinstance(token, Reason):
            return Refusal(reason=token, endpoint=endpoint)
        case = check.Case(
            config=self.config,
            endpoint=endpoint,
            received=received,
            token=token,
            now=self._clock(),
        )
        failure = check.first_failure(case)
        if failure is not None:
            return Refusal(reason=failure, endpoint=endpoint, token=token)
        return VerifiedCall(
            sub=token.sub,
            agent=token.agent,
            client_id=token.client_id,
            grant_id=token.grant_id,
            jti=token.jti,
            scope=token.scope,
            operation=token.call.operation,
            decision_id=token.call.decision_id,
            action_digest=token.call.action_digest,
            body=received.body,
        )

    def _introspect(self, token: str) -> TokenFacts | Reason:
        try:
            facts = answer.parse(self._introspector.ask(token))
        except BrokerFaultError as fault:
            _log.warning("no verdict: %r", str(fault))
            return fault.reason
        return Reason.TOKEN_INACTIVE if facts is None else facts

    def _refuse(self, refusal: Refusal) -> Response:
        reason = refusal.reason
        response = jsonify(error=reason.error or reason.code, error_description=reason.sentence)
        response.status_code = reason.status
        response.headers["Cache-Control"] = "no-store"
        if reason.status == _UNAVAILABLE:
            response.headers["Retry-After"] = _RETRY_AFTER_S
            return response
        parts = [f'realm="{self.config.audience}"']
        if reason.error is not None:
            parts.append(f'error="{reason.error}", error_description="{reason.sentence}"')
        parts.append(f'scope="{refusal.endpoint.scope}"')
        response.headers["WWW-Authenticate"] = "Bearer " + ", ".join(parts)
        return response
