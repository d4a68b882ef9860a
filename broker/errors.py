"""Every error the broker raises, with its code on the wire.

    BrokerError
    +- ConfigError         broker.toml, a key file or the database cannot be used: do not start
    +- AdminError          a command that cannot be done (name taken, unknown, malformed)
    +- StoreError          the database does not answer now (503, temporarily_unavailable)
    +- JwtError            a JWT broke a rule of `broker.tokens.jwt`; `rule` names it
    +- PageError           a person's request that is refused on a page, never by a redirect
    +- RedirectError       an authorization request refused by a redirect to its client
    +- OAuthError          an error answer in JSON (RFC 6749 section 5.2)
       +- InvalidRequestError  InvalidClientError  InvalidGrantError  InvalidScopeError
       +- InvalidTargetError  InvalidDetailsError  UnauthorizedClientError
       +- UnsupportedGrantTypeError

Messages name the field and the rule and never hold the value of a token, a code or a password.

Source: RFC 6749 sections 4.1.2.1 and 5.2, RFC 8693 section 2.2.2, RFC 9396 section 5.
"""

from __future__ import annotations

from typing import ClassVar


class BrokerError(Exception):
    """Root of the tree; its text is fit for an operator."""


class ConfigError(BrokerError):
    """The configuration, a key file or the database cannot be used."""


class AdminError(BrokerError):
    """An administrator's command cannot be carried out."""


class StoreError(BrokerError):
    """The database does not answer now; nothing was changed."""


class JwtError(BrokerError):
    """A JWT is refused; `rule` is the short name of the rule it broke."""

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(message)
        self.rule = rule


class PageError(BrokerError):
    """A browser's request is refused; the text is shown to the person."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


class RedirectError(BrokerError):
    """An authorization request is refused; its client hears it by redirect."""

    def __init__(self, error: str, message: str) -> None:
        super().__init__(message)
        self.error = error


class OAuthError(BrokerError):
    """An OAuth error answer; `error` is the wire code, the text its description."""

    error: ClassVar[str] = "invalid_request"
    status: ClassVar[int] = 400


class InvalidRequestError(OAuthError):
    """A parameter is missing, repeated or unusable."""


class InvalidClientError(OAuthError):
    """The client did not prove who it is."""

    error = "invalid_client"
    status = 401


class InvalidGrantError(OAuthError):
    """The authorization code is unknown, used, late or another client's."""

    error = "invalid_grant"


class InvalidScopeError(OAuthError):
    """The scope is malformed, not granted or not of this audience."""

    error = "invalid_scope"


class InvalidTargetError(OAuthError):
    """The audience is unknown or not granted."""

    error = "invalid_target"


class InvalidDetailsError(OAuthError):
    """The authorization_details do not describe one call the catalogue knows."""

    error = "invalid_authorization_details"


class UnauthorizedClientError(OAuthError):
    """This kind of client may not use this grant type."""

    error = "unauthorized_client"


class UnsupportedGrantTypeError(OAuthError):
    """The grant type is not one of the two that exist."""

    error = "unsupported_grant_type"
