"""The call a token is for, held against the catalogue."""

from __future__ import annotations

import json
import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker.cli.init import demo_config
from broker.config import Config
from broker.errors import InvalidDetailsError
from broker.grants import call

CONFIG = Config.model_validate(tomllib.loads(demo_config(port=8100, base_urls={})))
FILES = "http://127.0.0.1:8103"
GOOD = {
    "type": "counterfoil_call",
    "decision_id": "d1",
    "action_digest": "sha256:" + "a" * 64,
    "operation": "files.read",
    "method": "GET",
    "uri": f"{FILES}/v1/files/a.txt",
    "content_sha256": "b" * 64,
}


def accepts(**changes: object) -> bool:
    try:
        found = call.parse(json.dumps([GOOD | changes]))
        call.check(found, audience=CONFIG.catalogue["files-api"], scope="files.read")
    except InvalidDetailsError:
        return False
    return found.details == GOOD | changes


@pytest.mark.parametrize(
    "rest",
    [
        "/v1/files/a.txt",
        "/v1/files/a.txt?x=1&y=/?:@",
        "/v1/files/a%20b",
        "/v1/files/%C3%A9",
        "/v1/files/100%25",
        "/v1/files/...",
        "/v1/files/.env",
        "/v1/files/a;b=c,d",
    ],
)
def test_one_segment_and_a_query_fit(rest: str) -> None:
    assert accepts(uri=FILES + rest)


@pytest.mark.parametrize(
    "uri",
    [
        f"{FILES}/v1/files/",
        f"{FILES}/v1/files",
        f"{FILES}/v1/files/a/b",
        f"{FILES}/v1/files/a/",
        f"{FILES}//v1/files/a",
        f"{FILES}/v1//files/a",
        f"{FILES}/v1/%66iles/a",
        f"{FILES}/V1/files/a",
        f"{FILES}/v1/files/.",
        f"{FILES}/v1/files/..",
        f"{FILES}/v1/files/%2e%2E",
        f"{FILES}/v1/files/%2e.",
        f"{FILES}/v1/files/../files/a",
        f"{FILES}/v1/files/a%2Fb",
        f"{FILES}/v1/files/a%2fb",
        f"{FILES}/v1/files/a%5Cb",
        f"{FILES}/v1/files/a\\b",
        f"{FILES}/v1/files/a%252Fb",
        f"{FILES}/v1/files/%252e%252e",
        f"{FILES}/v1/files/a%00",
        f"{FILES}/v1/files/a%0D%0Ab",
        f"{FILES}/v1/files/%E2%80%AE",
        f"{FILES}/v1/files/%C0%AF",
        f"{FILES}/v1/files/%FF",
        f"{FILES}/v1/files/%",
        f"{FILES}/v1/files/%4",
        f"{FILES}/v1/files/%zz",
        f"{FILES}/v1/files/a b",
        f"{FILES}/v1/files/a\n",
        f"{FILES}/v1/files/é",
        f"{FILES}/v1/files/a#b",
        f"{FILES}/v1/files/a?b#c",
        f"{FILES}/v1/files/a?",
        f"{FILES}/v1/files/a?<b>",
        f"{FILES}/v1/files/a?%4",
        f"{FILES}/v1/files/{{name}}",
        f"{FILES}/v1/files/" + "a" * 4096,
        f"{FILES}",
        f"{FILES}?/v1/files/a",
        "http://127.0.0.1:81033/v1/files/a",
        "http://127.0.0.1:8103.evil.example/v1/files/a",
        "http://127.0.0.1:8103@evil.example/v1/files/a",
        "http://alice@127.0.0.1:8103/v1/files/a",
        "http://127.0.0.1/v1/files/a",
        "http://localhost:8103/v1/files/a",
        "http://127.1:8103/v1/files/a",
        "HTTP://127.0.0.1:8103/v1/files/a",
        "https://127.0.0.1:8103/v1/files/a",
        "//127.0.0.1:8103/v1/files/a",
        "/v1/files/a",
        "",
    ],
)
def test_any_other_uri_is_refused(uri: str) -> None:
    assert not accepts(uri=uri)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("type", "counterfoil_calls"),
        ("decision_id", ""),
        ("decision_id", "d" * 65),
        ("decision_id", "d 1"),
        ("decision_id", 1),
        ("action_digest", "a" * 64),
        ("action_digest", "sha256:" + "A" * 64),
        ("action_digest", "sha1:" + "a" * 40),
        ("content_sha256", "b" * 65),
        ("content_sha256", "b" * 64 + "\n"),
        ("content_sha256", None),
        ("operation", "files.write"),
        ("operation", "messages.read"),
        ("operation", "files"),
        ("method", "POST"),
        ("method", "get"),
        ("method", "GET "),
        ("locations", ["x"]),
    ],
)
def test_any_other_member_is_refused(name: str, value: object) -> None:
    assert not accepts(**{name: value})


@pytest.mark.parametrize("name", sorted(GOOD))
def test_every_member_is_required(name: str) -> None:
    lacking = {key: value for key, value in GOOD.items() if key != name}
    with pytest.raises(InvalidDetailsError):
        call.parse(json.dumps([lacking]))


@settings(max_examples=200, deadline=None)
@given(st.text(st.sampled_from("ab./%25eEfFC0\\?#@:;~ é"), max_size=24))
def test_whatever_fits_is_one_plain_segment(tail: str) -> None:
    if accepts(uri=f"{FILES}/v1/files/{tail}"):
        segment = tail.partition("?")[0]
        assert "/" not in segment
        assert "#" not in tail
        assert segment.lower().replace("%2e", ".") not in {"", ".", ".."}
        assert not any(bad in segment.lower() for bad in ("%2f", "%5c", "\\", "%252f"))


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=80))
def test_any_text_is_details_or_refused(text: str) -> None:
    with pytest.raises(InvalidDetailsError):
        call.parse(text)
