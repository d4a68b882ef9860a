"""Ask the broker about one token, over HTTP, as an authenticated client.

One fresh connection and one fresh client assertion per question; no proxy or credentials from the
environment, no redirect, no cookie, no retry, no compressed answer, at most 64 KiB. The body must
arrive within the deadline as a whole; before it, each wait for bytes is limited. Whatever goes
wrong is a BrokerFaultError, never an answer.

Source: RFC 7662 §2.1, RFC 7523 §2.2 and §3 (client assertion).
"""

from __future__ import annotations

import time
from http.cookiejar import DefaultCookiePolicy
from typing import TYPE_CHECKING

import requests
from urllib3.exceptions import HTTPError, ReadTimeoutError

from broker.resource.model import BrokerFaultError, Reason, ResourceConfig

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_ANSWER_BYTES = 64 * 1024
ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

_OK = 200
_CHUNK = 8192


def plain_session() -> requests.Session:
    """Return a session that takes nothing from the environment and keeps no cookie."""
    session = requests.Session()
    session.trust_env = False
    session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
    return session


class Introspector:
    """The way to one broker's introspection endpoint."""

    def __init__(
        self,
        config: ResourceConfig,
        *,
        assertion: Callable[[], str],
        session: requests.Session,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._config = config
        self._assertion = assertion
        self._session = session
        self._monotonic = monotonic

    def ask(self, token: str) -> bytes:
        """Return the broker's JSON answer about this token, or raise BrokerFaultError."""
        deadline = self._monotonic() + self._config.timeout_s
        form = {
            "token": token,
            "client_assertion_type": ASSERTION_TYPE,
            "client_assertion": self._assertion(),
        }
        try:
            with self._session.post(
                self._config.introspection_url,
                data=form,
                headers={
                    "Accept": "application/json",
                    "Accept-Encoding": "identity",
                    "Connection": "close",
                },
                timeout=self._config.timeout_s,
                allow_redirects=False,
                stream=True,
            ) as response:
                _check_head(response)
                return self._read(response, deadline)
        except (requests.Timeout, ReadTimeoutError, TimeoutError):
            raise BrokerFaultError(Reason.BROKER_SLOW, "no answer in time") from None
        except (requests.RequestException, HTTPError, OSError):
            raise BrokerFaultError(Reason.BROKER_UNREACHABLE, "no HTTP answer") from None

    def _read(self, response: requests.Response, deadline: float) -> bytes:
        answer = bytearray()
        while chunk := response.raw.read1(_CHUNK, decode_content=False):
            answer += chunk
            if len(answer) > MAX_ANSWER_BYTES:
                raise BrokerFaultError(Reason.BROKER_ANSWER, f"over {MAX_ANSWER_BYTES} bytes")
            if self._monotonic() > deadline:
                raise BrokerFaultError(Reason.BROKER_SLOW, "body not complete in time")
        return bytes(answer)


def _check_head(response: requests.Response) -> None:
    if response.status_code != _OK:
        raise BrokerFaultError(Reason.BROKER_STATUS, f"status {response.status_code}")
    kind = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise BrokerFaultError(Reason.BROKER_ANSWER, "Content-Type is not application/json")
    if "Content-Encoding" in response.headers:
        raise BrokerFaultError(Reason.BROKER_ANSWER, "Content-Encoding is not accepted")
