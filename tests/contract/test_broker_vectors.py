"""The broker accepts the shared vectors, refuses the invalid ones, and the files are current."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import jwt
import pytest

from broker.app import broker_of, create_app
from broker.errors import InvalidDetailsError
from broker.grants import call
from broker.store import clients, codes, grants, users
from broker.store.clients import Client
from broker.store.codes import Code
from broker.store.database import digest
from broker.store.grants import Grant
from tests.contract.vectors import generate
from tests.support.broker_server import make_config

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from flask.testing import FlaskClient


def read(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((generate.FOLDER / f"{name}.json").read_text())
    return found


@pytest.fixture
def client(tmp_path: Path) -> Iterator[FlaskClient]:
    """A broker that knows the vectors' clients, grant, code and handle; its clock stands still."""
    config = make_config(tmp_path, port=8100, base_urls={})
    app = create_app(config, clock=lambda: generate.NOW, random=lambda size: b"\x07" * size)
    store = broker_of(app).store
    gateway = ("gateway", "gateway", None, ("http://127.0.0.1/callback",))
    with store.write() as connection:
        users.add(connection, name="alice", password_hash="none", now=generate.NOW)
        for name, kind, audience, uris in (
            gateway,
            ("calendar-api", "resource", "calendar-api", ()),
        ):
            public = {k: v for k, v in read("keys")[name].items() if k != "d"}
            clients.add(
                connection,
                Client(
                    id=name,
                    kind=kind,
                    audience=audience,
                    jwk=json.dumps(public),
                    redirect_uris=uris,
                    enabled=True,
                ),
                now=generate.NOW,
            )
    yield app.test_client()
    store.close()


def add_grant(client: FlaskClient, *, handle: str | None) -> None:
    store = broker_of(client.application).store
    grant = Grant(
        id=generate.ID,
        user="alice",
        agent="demo-agent",
        client="gateway",
        scopes=("calendar.read",),
        purpose="",
        created_at=generate.NOW,
        expires_at=generate.GRANT_END,
        status="pending",
        epoch=0,
    )
    with store.write() as connection:
        grants.add(connection, grant, upstream_sealed=b"x", upstream_key="x")
        if handle is not None:
            grants.activate(connection, generate.ID, handle_hash=digest(handle), now=generate.NOW)
            return
        code = Code(
            hash=digest(generate.CODE),
            grant_id=generate.ID,
            client="gateway",
            redirect_uri=read("redemption")["request"]["redirect_uri"],
            challenge=read("redemption")["challenge"],
            expires_at=generate.NOW + 60,
        )
        codes.add(connection, code)


def test_the_files_are_what_the_generator_makes() -> None:
    found = {path.name: path.read_text() for path in generate.FOLDER.glob("*.json")}
    assert found == generate.rendered()


def test_the_redemption_is_answered_as_the_vector_says(client: FlaskClient) -> None:
    add_grant(client, handle=None)
    vector = read("redemption")
    answer = client.post("/token", data=vector["request"])
    assert (answer.status_code, answer.get_json()) == (200, vector["answer"])


def test_the_exchange_and_the_introspection_are_answered_as_the_vectors_say(
    client: FlaskClient,
) -> None:
    add_grant(client, handle=generate.HANDLE)
    vector = read("exchange")
    answer = client.post("/token", data=vector["request"])
    assert answer.status_code == 200, answer.get_json()
    body, wanted = answer.get_json(), vector["answer"]
    token = body["access_token"]
    assert body | {"access_token": ""} == wanted | {"access_token": ""}
    payload = jwt.decode(token, options={"verify_signature": False})
    assert payload == vector["access_token"]["claims"]
    header = jwt.get_unverified_header(token)
    assert header | {"kid": ""} == vector["access_token"]["header"] | {"kid": ""}

    vector = read("introspection")
    seen = client.post("/introspect", data=vector["request"] | {"token": token})
    assert (seen.status_code, seen.get_json()) == (200, vector["answer"])


def test_an_unknown_token_is_inactive_as_the_vector_says(client: FlaskClient) -> None:
    vector = read("introspection")
    seen = client.post("/introspect", data=vector["request"])
    assert (seen.status_code, seen.get_json()) == (200, vector["inactive"])


@pytest.mark.parametrize("case", read("authorization_details")["invalid"], ids=lambda c: c["why"])
def test_invalid_details_are_refused(client: FlaskClient, case: dict[str, Any]) -> None:
    audience = broker_of(client.application).config.catalogue["calendar-api"]
    with pytest.raises(InvalidDetailsError):
        call.check(call.parse(json.dumps(case["value"])), audience=audience, scope="calendar.read")


def test_valid_details_are_accepted(client: FlaskClient) -> None:
    audience = broker_of(client.application).config.catalogue["calendar-api"]
    text = json.dumps(read("authorization_details")["valid"])
    call.check(call.parse(text), audience=audience, scope="calendar.read")
