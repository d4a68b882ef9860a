"""Four OAuth failure modes as pairs over real HTTP: the commonly shipped pattern, and ours.

In each pair the first test shows the attack working on `mock_apis.naive`; the second runs the same
attack against gateway, broker and resource servers, where it is stopped. `world.seen` stands for
a leak: every Authorization header an API was ever sent.
"""

from __future__ import annotations

import json
import logging
import sqlite3
import traceback

import pytest
import requests

from broker.endpoints.pages import COOKIE
from broker.store.sealed import load_sealer
from gateway.errors import ExecutionError
from gateway.model.names import Effect, Status
from tests.support.broker_server import Party, hidden_fields

DAY_S = 86_400
MESSAGE = {"to": ["drop@attacker.example"], "subject": "hello", "body": "the inbox"}
READ_CALENDAR = ("calendar-api", "events.read")


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


def connect_naively(url):
    claims = {"sub": "alice", "agent": "demo-agent", "aud": "calendar", "scope": "calendar.read"}
    return requests.post(f"{url}/connect", json=claims, timeout=20).json()


# -- (a) a scope that stays open ------------------------------------------------------------------


def test_a_naive_scope_stays_open_tomorrow_and_at_the_next_api(naive, world):
    url, journal = naive
    token = connect_naively(url)["access_token"]
    world.broker.clock.advance(301)
    assert requests.get(f"{url}/v1/events", headers=bearer(token), timeout=20).ok
    world.broker.clock.advance(DAY_S)
    assert requests.get(f"{url}/v1/events", headers=bearer(token), timeout=20).ok
    mail = requests.post(f"{url}/v1/messages/send", headers=bearer(token), json=MESSAGE, timeout=20)
    assert mail.ok
    assert [(e["outcome"], e["operation"]) for e in journal.entries()] == [
        ("accepted", "events.read"),
        ("accepted", "events.read"),
        ("accepted", "messages.send"),
    ]


def test_a_decided_call_opens_one_api_for_one_call_for_300_seconds(world, gate):
    assert gate.call(*READ_CALENDAR, day="2026-11-30").ok
    token = world.stolen("calendar-api")
    other_calls = [
        world.call("mail.read", token),
        world.call("mail.send", token, body=json.dumps(MESSAGE).encode()),
        world.call("files.read", token),
        world.call("calendar.read", token, path="/v1/events?day=2026-12-01"),
        world.call("calendar.read", token, path="/v1/events"),
        world.call("calendar.write", token, body=b"{}"),
    ]
    assert [one.status_code for one in other_calls] == [401, 401, 401, 403, 403, 403]
    for seconds in (301, DAY_S):
        world.broker.clock.advance(seconds)
        late = world.call("calendar.read", token)
        assert late.status_code == 401
        assert 'error="invalid_token"' in late.headers["WWW-Authenticate"]
    assert (world.accepted("calendar-api"), world.accepted("mail-api")) == (1, 0)


# -- (b) the refresh token as permanent access ----------------------------------------------------


def test_a_naive_refresh_token_is_permanent_access(naive, world):
    url, _ = naive
    answer = connect_naively(url)
    assert requests.post(f"{url}/disconnect", json={"sub": "alice"}, timeout=20).ok
    world.broker.clock.advance(400 * DAY_S)
    assert (
        requests.get(
            f"{url}/v1/events", headers=bearer(answer["access_token"]), timeout=20
        ).status_code
        == 401
    )  # 90 days have passed, so the agent takes 90 more
    stolen = {"refresh_token": answer["refresh_token"]}
    again = requests.post(f"{url}/refresh", json=stolen, timeout=20).json()["access_token"]
    assert requests.get(f"{url}/v1/events", headers=bearer(again), timeout=20).ok


def test_the_grants_refresh_token_and_handle_are_found_nowhere(world, gate, caplog):
    caplog.set_level(logging.DEBUG)
    allowed = gate.call(*READ_CALENDAR, day="2026-11-30")
    assert allowed.ok
    refused = gate.call("mail-api", "messages.delete", id="m-1")
    asked = gate.call("mail-api", "messages.send", **MESSAGE)
    world.broker.revoke("unknown")
    with pytest.raises(ExecutionError) as caught:
        gate.pipeline.executor.api.broker.token(
            {"grant_type": "refresh_token", "subject_token": gate.handle}, timeout_s=20
        )
    tokens = [one.removeprefix("Bearer ") for one in world.seen["calendar-api"]]
    upstream = refresh_token_of(world, gate)
    places = {
        "answers": repr([allowed, refused, asked]).encode(),
        "values": repr([gate, gate.grant, gate.pipeline]).encode(),
        "state": gate.kept(),
        "log": caplog.text.encode(),
        "traceback": "".join(traceback.format_exception(caught.value)).encode(),
        "journals": b"".join(path.read_bytes() for path in world.folder.glob("*-api.jsonl")),
        "database": dump(world),
        "introspection": json.dumps(world.broker.introspect(tokens[0], "calendar-api")).encode(),
    }
    assert all(places.values())
    for secret in (upstream, gate.handle, *tokens):
        assert not [name for name, held in places.items() if secret.encode() in held]
    # The handle lies in one file of the gateway, for its owner only; the refresh token not there.
    assert gate.handle.encode() in gate.places.grants.read_bytes()
    assert gate.places.grants.stat().st_mode & 0o077 == 0
    assert upstream.encode() not in gate.places.grants.read_bytes()


def test_the_refresh_token_opens_nothing_even_when_it_is_known(world, gate):
    upstream = refresh_token_of(world, gate)
    assert world.call("calendar.read", upstream).status_code == 401
    form = {"grant_type": "refresh_token", "refresh_token": upstream}
    answer = world.broker.post("/token", form, gate.party)
    assert (answer.status_code, answer.json()["error"]) == (400, "unsupported_grant_type")
    exchanged = world.broker.post(
        "/token",
        world.broker.exchange_form(
            upstream, "calendar.read", actor_token=world.broker.actor(party=gate.party)
        ),
        gate.party,
    )
    assert (exchanged.status_code, exchanged.json()["error"]) == (400, "invalid_request")


@pytest.mark.parametrize("how", ["handle", "user"])
def test_revocation_bites_the_live_token_and_the_next_call(world, gate, how):
    assert gate.call(*READ_CALENDAR, day="2026-11-30").ok
    token = world.stolen("calendar-api")
    assert world.call("calendar.read", token).ok  # live, and the same call: served
    if how == "handle":
        assert world.broker.post("/revoke", {"token": gate.handle}, gate.party).ok
    else:
        revoke_as_the_user(world, gate.grant.grant_id)
    assert world.call("calendar.read", token).status_code == 401
    assert world.last("calendar-api")["reason"] == "token_inactive"
    again = gate.call(*READ_CALENDAR, day="2026-11-30")
    assert (again.result.status, again.result.reason) == (Status.NOT_STARTED, "broker_refused")
    assert world.accepted("calendar-api") == 2


# -- (c) authentication taken for authorization ---------------------------------------------------


def test_a_naive_api_takes_a_sign_in_for_a_permission(naive):
    url, journal = naive
    id_token = requests.post(f"{url}/sign-in", json={"sub": "alice"}, timeout=20).json()["id_token"]
    sent = requests.post(
        f"{url}/v1/messages/send", headers=bearer(id_token), json=MESSAGE, timeout=20
    )
    assert sent.ok
    assert journal.entries()[-1]["effect"] == "sent message s-1"


def test_proof_of_identity_opens_nothing(world, gate):
    broker = world.broker
    session = logged_in_cookie(world)
    proofs = {
        "client assertion of the gateway": broker.assertion(gate.party),
        "client assertion of the API": broker.assertion(broker.servers["calendar-api"]),
        "actor assertion": broker.actor(party=gate.party),
        "login session": session,
        "grant handle": gate.handle,
        "assertion typed as access token": broker.servers["calendar-api"].sign(
            {"iss": broker.url, "aud": "calendar-api", "sub": "alice", "scope": "calendar.read"},
            typ="at+jwt",
        ),
    }
    for name, proof in proofs.items():
        assert world.call("calendar.read", proof).status_code == 401, name
        assert world.last("calendar-api")["reason"] == "token_inactive", name
        cookie = {"Cookie": f"{COOKIE}={proof}"}
        assert world.call("calendar.read", None, headers=cookie).status_code == 401, name
    assert world.accepted("calendar-api") == 0


def test_a_login_session_does_not_authenticate_a_client(world, gate):
    cookies = {"Cookie": logged_in_cookie(world, whole=True)}
    form = world.broker.exchange_form(gate.handle, "calendar.read")
    for path, fields in (("/token", form), ("/introspect", {"token": "x"}), ("/revoke", {})):
        answer = requests.post(
            world.broker.url + path, data=fields | {"token": "x"}, headers=cookies, timeout=20
        )
        assert answer.status_code in {400, 401}, path
        assert answer.json()["error"] in {"invalid_client", "invalid_request"}, path


# -- (d) the confused deputy ----------------------------------------------------------------------


def test_a_naive_tool_server_acts_for_anyone(naive):
    url, journal = naive
    answer = requests.post(f"{url}/tools/read_mail", json={"user": "bob"}, timeout=20)
    assert {message["owner"] for message in answer.json()["messages"]} == {"bob"}
    assert journal.entries()[-1]["sub"] == "bob"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"scope": "mail.read"}, "params_invalid"),
        ({"user": "bob"}, "params_invalid"),
        ({"url": "http://127.0.0.1:1/"}, "params_invalid"),
        ({"expires_in": 86400}, "params_invalid"),
        ({"audience": "files-api", "operation": "files.read"}, "api_unknown_operation"),
        ({"operation": "events.create"}, "api_unknown_operation"),
        ({"audience": "CALENDAR-API"}, "api_unknown_operation"),
        ({"arguments": {"day": "2026-11-30", "user": "bob"}}, "api_arguments"),
        ({"arguments": {"day": "2026-11-30", "sub": "bob"}}, "api_arguments"),
        ({"arguments": {"day": "2026-11-30", "Authorization": "Bearer x"}}, "api_arguments"),
        (
            {
                "audience": "mail-api",
                "operation": "messages.delete",
                "arguments": {"id": "../send"},
            },
            "api_arguments",
        ),
    ],
)
def test_a_request_cannot_widen_what_it_is_decided_as(shared, shared_gate, change, reason):
    plain = {"audience": "calendar-api", "operation": "events.read", "arguments": {}}
    before = {name: len(headers) for name, headers in shared.seen.items()}
    answer = shared_gate.request(plain | change, actor="admin", session="another")
    assert (answer.decision.effect, answer.decision.reason) == (Effect.DENY, reason)
    assert {name: len(headers) for name, headers in shared.seen.items()} == before


def test_an_argument_stays_an_argument(world, gate):
    """Delimiters in an argument are data: the decided call has them encoded, and one user's data."""
    answer = gate.call(*READ_CALENDAR, day="2026-11-30&user=bob#")
    assert (answer.result.reason, world.last("calendar-api")["reason"]) == (
        "api_refused",
        "bad_day",
    )
    assert world.last("calendar-api")["sub"] == "alice"
    claimed = gate.request(
        {"audience": "calendar-api", "operation": "events.read", "arguments": {}}, actor="bob"
    )
    assert claimed.ok
    assert world.last("calendar-api")["sub"] == "alice"


@pytest.mark.parametrize(
    ("scope", "change", "error"),
    [
        ("mail.read", {"audience": "calendar-api"}, "invalid_scope"),
        ("calendar.read", {"audience": "mail-api"}, "invalid_scope"),
        ("calendar.read", {"audience": "files-api"}, "invalid_target"),
        ("calendar.read", {"audience": "calendar-api mail-api"}, "invalid_target"),
        ("calendar.read", {"scope": "calendar.read mail.read"}, "invalid_scope"),
        ("calendar.read", {"scope": "calendar.write"}, "invalid_scope"),
        ("calendar.read", {"scope": "*"}, "invalid_scope"),
        ("files.read", {}, "invalid_target"),
        ("calendar.read", {"resource": "http://127.0.0.1:1/"}, "invalid_target"),
        ("calendar.read", {"subject_token_type": "urn:ietf:params:oauth:token-type:access_token"},
         "invalid_request"),
    ],
)  # fmt: skip
def test_an_exchange_cannot_widen_its_grant(shared, shared_gate, scope, change, error):
    actor = shared.broker.actor(party=shared_gate.party)
    form = shared.broker.exchange_form(shared_gate.handle, scope, actor_token=actor)
    answer = shared.broker.post("/token", form | change, shared_gate.party)
    assert (answer.status_code, answer.json()["error"]) == (400, error)


def test_an_exchange_cannot_lengthen_or_pass_on(world, gate):
    broker = world.broker
    wishes = {"expires_in": "86400", "lifetime": "86400", "requested_expiry": "2000000000"}
    answer = exchange(world, gate, **wishes)
    token = answer.json()["access_token"]
    facts = broker.introspect(token, "calendar-api")
    assert answer.json()["expires_in"] == facts["exp"] - facts["iat"] == 300
    # An access token is no subject for another exchange, under either type.
    for kind in ("urn:counterfoil:token-type:grant-handle", "urn:x:access_token"):
        again = exchange(world, gate, subject_token=token, subject_token_type=kind)
        assert (again.status_code, again.json()["error"]) == (400, "invalid_request")
    # Another agent's name in the actor assertion does not fit the grant.
    other = exchange(world, gate, actor_token=broker.actor("other-agent", party=gate.party))
    assert (other.status_code, other.json()["error"]) == (400, "invalid_request")


def test_a_tool_holds_nothing_of_its_own(world, gate):
    """The handle without the gateway's key: another key, another client, an API's key, no key."""
    broker, scope = world.broker, "calendar.read"
    stranger, same_name = Party("stranger"), Party(gate.party.id)
    broker.add_client(stranger)
    for party in (stranger, same_name, broker.servers["calendar-api"]):
        form = broker.exchange_form(gate.handle, scope, actor_token=broker.actor(party=party))
        answer = broker.post("/token", form, party)
        assert answer.status_code in {400, 401}, party.id
        assert "access_token" not in answer.json(), party.id
    bare = requests.post(
        f"{broker.url}/token", data=broker.exchange_form(gate.handle, scope), timeout=20
    )
    assert "access_token" not in bare.json()
    # An API that was shown a token can use it for nothing but the call it was shown it for.
    assert gate.call(*READ_CALENDAR, day="2026-11-30").ok
    token = world.stolen("calendar-api")
    assert world.call("mail.read", token).status_code == 401
    assert broker.introspect(token, "mail-api") == {"active": False}


# -- helpers --------------------------------------------------------------------------------------


def exchange(world, gate, **change):
    form = world.broker.exchange_form(
        gate.handle, "calendar.read", actor_token=world.broker.actor(party=gate.party)
    )
    return world.broker.post("/token", form | change, gate.party)


def refresh_token_of(world, gate):
    """Open the sealed refresh token with the broker's own key, as no interface does."""
    sealer = load_sealer(world.folder / "broker-keys" / "seal.key")
    with world.broker.store.read() as connection:
        sealed = connection.exec_driver_sql(
            "SELECT upstream_sealed FROM grants WHERE id = ?", (gate.grant.grant_id,)
        ).scalar_one()
    return sealer.open(sealed, grant_id=gate.grant.grant_id)


def dump(world):
    """The database as its files lie there and as SQL."""
    files = b"".join(path.read_bytes() for path in sorted(world.folder.glob("broker.db*")))
    connection = sqlite3.connect(world.folder / "broker.db")
    try:
        return files + "\n".join(connection.iterdump()).encode()
    finally:
        connection.close()


def logged_in_cookie(world, *, whole=False):
    with requests.Session() as browser:
        world.broker.open_consent(browser, "calendar.read")
        session = browser.cookies[COOKIE]
        return f"{COOKIE}={session}" if whole else session


def revoke_as_the_user(world, grant_id):
    with requests.Session() as browser:
        page = browser.get(f"{world.broker.url}/grants", timeout=20)
        form = hidden_fields(world.broker.log_in(browser, page, "alice"))
        assert form["grant"] == grant_id
        answer = browser.post(f"{world.broker.url}/grants/revoke", data=form, timeout=20)
        assert answer.ok, answer.text
