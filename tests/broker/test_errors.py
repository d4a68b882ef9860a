"""Each OAuth error has the wire's code and status."""

from __future__ import annotations

from broker import errors


def test_the_codes_are_the_wires() -> None:
    found = {kind.error: kind.status for kind in errors.OAuthError.__subclasses__()}
    assert found == {
        "invalid_request": 400,
        "invalid_client": 401,
        "invalid_grant": 400,
        "invalid_scope": 400,
        "invalid_target": 400,
        "invalid_authorization_details": 400,
        "unauthorized_client": 400,
        "unsupported_grant_type": 400,
    }


def test_every_error_is_of_one_tree() -> None:
    assert errors.JwtError("typ", "text").rule == "typ"
    assert errors.PageError("text").status == 400
    assert errors.RedirectError("access_denied", "text").error == "access_denied"
    kinds = [value for value in vars(errors).values() if isinstance(value, type)]
    assert all(issubclass(kind, errors.BrokerError) for kind in kinds)
