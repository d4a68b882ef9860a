"""Every kind of tampering has its verdict, and none is reported clean."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from gateway.model.names import Taint
from gateway.record import chain
from gateway.record.stage import open_log
from gateway.record.verify import Code
from tests.gateway.record.samples import (
    KEYS,
    OTHER_KEYS,
    denied,
    intent,
    opened,
    outcome,
    run_one,
    settings,
    verified,
)

Tamper = Callable[[Path], object]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of 12 records in 4 segments."""
    root = tmp_path_factory.mktemp("made")
    with opened(root, segment_bytes=2000) as log:
        for _ in range(5):
            run_one(log)
        log.append(denied("d", taint=frozenset({Taint.ATTEMPTED})), sync=True)
        log.append(denied("e"), sync=False)
    assert len(segments(root)) >= 3
    return root


@pytest.fixture
def root(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "log-root"))


def segments(root: Path) -> list[Path]:
    return sorted((root / "log").glob("*.jsonl"))


def head(root: Path) -> Path:
    return root / "head" / "checkpoint"


def lines(root: Path, segment: int = 0) -> list[bytes]:
    return segments(root)[segment].read_bytes().splitlines(keepends=True)


def edit(change: Callable[[list[bytes]], object], segment: int = 0) -> Tamper:
    def apply(root: Path) -> None:
        found = lines(root, segment)
        change(found)
        segments(root)[segment].write_bytes(b"".join(found))

    return apply


def swap(found: list[bytes]) -> None:
    found[0], found[1] = found[1], found[0]


def test_a_whole_log_is_clean(root: Path) -> None:
    report = verified(root)
    assert report.to_json() == {
        "verdict": "ok",
        "exit_code": 0,
        "message": "12 records, whole, up to the signed head",
        "records": 12,
        "head_size": 12,
        "seq": None,
        "unresolved": [],
    }


TAMPERED: dict[str, tuple[Tamper, Code, int | None]] = {
    "first line removed": (edit(lambda found: found.pop(0)), Code.TAMPERED, 0),
    "middle line removed": (edit(lambda found: found.pop(1)), Code.TAMPERED, 1),
    "lines swapped": (edit(swap), Code.TAMPERED, 0),
    "line doubled": (edit(lambda found: found.insert(1, found[0])), Code.TAMPERED, 1),
    "line inserted": (edit(lambda found: found.insert(1, b"{}\n")), Code.CORRUPT, 1),
    "empty line": (edit(lambda found: found.insert(1, b"\n")), Code.CORRUPT, 1),
    "middle segment deleted": (lambda root: segments(root)[1].unlink(), Code.TAMPERED, None),
    "first segment deleted": (lambda root: segments(root)[0].unlink(), Code.TAMPERED, 0),
    "last segment deleted": (lambda root: segments(root)[-1].unlink(), Code.TRUNCATED, None),
    "last line cut": (edit(lambda found: found.pop(), -1), Code.TRUNCATED, 11),
    "last line torn": (
        edit(lambda found: found.append(found.pop()[:-5]), -1),
        Code.CORRUPT,
        11,
    ),
    "newline of the last line cut": (
        edit(lambda found: found.append(found.pop()[:-1]), -1),
        Code.CORRUPT,
        11,
    ),
    "all segments emptied": (
        lambda root: [path.write_bytes(b"") for path in segments(root)],
        Code.TAMPERED,
        0,
    ),
    "all segments deleted": (
        lambda root: [path.unlink() for path in segments(root)],
        Code.TRUNCATED,
        0,
    ),
    "log deleted": (lambda root: shutil.rmtree(root / "log"), Code.TRUNCATED, 0),
    "head deleted": (lambda root: head(root).unlink(), Code.UNSIGNED, None),
    "head emptied": (lambda root: head(root).write_bytes(b""), Code.UNSIGNED, None),
    "head without signature": (
        lambda root: head(root).write_bytes(head(root).read_bytes().partition(b"\n\n")[0] + b"\n"),
        Code.UNSIGNED,
        None,
    ),
    "head and blank line only": (
        lambda root: head(root).write_bytes(
            head(root).read_bytes().partition(b"\n\n")[0] + b"\n\n"
        ),
        Code.UNSIGNED,
        None,
    ),
    "everything deleted": (
        lambda root: [shutil.rmtree(root / "log"), shutil.rmtree(root / "head")],
        Code.UNSIGNED,
        None,
    ),
    "segment is a directory": (
        lambda root: [segments(root)[0].rename(root / "x"), (root / "log" / ("0" * 20 + ".jsonl")).mkdir()],
        Code.CORRUPT,
        0,
    ),
}  # fmt: skip


TORN = {"last line torn", "newline of the last line cut"}


@pytest.mark.parametrize("name", TAMPERED)
def test_tampering_has_its_class_and_sequence_number(root: Path, name: str) -> None:
    tamper, code, seq = TAMPERED[name]
    tamper(root)
    report = verified(root)
    assert report.code is code, report.message
    if seq is not None:
        assert report.to_json()["seq"] == seq
    assert report.to_json()["verdict"] == code.name.lower()
    assert ("is torn" in report.message) == (name in TORN)


def test_no_flipped_byte_of_the_log_is_clean(root: Path) -> None:
    for number, path in enumerate(segments(root)):
        data = path.read_bytes()
        for at in range(number % 7, len(data), 61):
            path.write_bytes(data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :])
            report = verified(root)
            assert report.code in {Code.TAMPERED, Code.CORRUPT}, (path.name, at)
            assert report.seq is not None
        path.write_bytes(data)
    assert verified(root).code is Code.OK


def test_a_flipped_value_names_its_record(root: Path) -> None:
    edit(lambda found: found.append(found.pop().replace(b'"denied"', b'"deniee"')), -1)(root)
    report = verified(root)
    assert (report.code, report.seq) == (Code.TAMPERED, 11)
    edit(lambda found: found.append(found.pop().replace(b'"deniee"', b'"denied"')), -1)(root)
    edit(lambda found: found.insert(0, found.pop(0).replace(b'"alice"', b'"malic"')))(root)
    report = verified(root)
    assert (report.code, report.seq) == (Code.TAMPERED, 0)


def test_no_flipped_byte_of_the_head_is_clean(root: Path) -> None:
    data = head(root).read_bytes()
    for at in range(len(data)):
        head(root).write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        assert verified(root).code in {Code.TAMPERED, Code.UNSIGNED}, at


def test_a_chain_that_was_made_anew_does_not_fit_the_head(root: Path) -> None:
    """Whoever edits a record can mend every `prev` after it; the signed root still tells."""
    prev = "0" * 64
    for path in segments(root):
        fixed = []
        for line in path.read_bytes().splitlines():
            record = json.loads(line)
            record.pop("segment", None)
            record["prev"] = prev
            record["rule_id"] = "another-rule"
            text = json.dumps(record, sort_keys=True, separators=(",", ":")).encode()
            prev = hashlib.sha256(text).hexdigest()
            fixed.append(text + b"\n")
        path.write_bytes(b"".join(fixed))
    report = verified(root)
    assert (report.code, report.records, report.seq) == (Code.TAMPERED, 12, 11)


@pytest.mark.parametrize(
    "text", ['{"a":1,"a":1}', '{"a":NaN}', '{"a":1.5}', "[1]", "1", "\xff", "[" * 3000, '{"v":2}']
)
def test_what_is_no_record_is_corrupt(root: Path, text: str) -> None:
    edit(lambda found: found.append(text.encode("latin-1") + b"\n"), -1)(root)
    assert verified(root).code is Code.CORRUPT


def test_records_beyond_the_head(root: Path) -> None:
    old = head(root).read_bytes()
    with opened(root) as log:
        run_one(log)
    new = head(root).read_bytes()
    head(root).write_bytes(old)
    report = verified(root)
    assert (report.code, report.seq, report.head_size) == (Code.UNCOVERED, 12, 12), "replayed head"
    head(root).write_bytes(new)
    assert verified(root).code is Code.OK


def test_a_forged_record_beyond_the_head_is_not_clean(root: Path) -> None:
    last = json.loads(lines(root, -1)[-1])
    forged = {**last, "seq": 12, "prev": hashlib.sha256(lines(root, -1)[-1][:-1]).hexdigest()}
    forged.pop("segment", None)
    text = json.dumps(forged, sort_keys=True, separators=(",", ":")).encode()
    edit(lambda found: found.append(text + b"\n"), -1)(root)
    assert verified(root).code is Code.UNCOVERED


def test_another_keys_log_is_tampered(root: Path) -> None:
    report = verified(root, OTHER_KEYS)
    assert report.code is Code.TAMPERED
    assert "another" in report.message


def test_the_head_of_another_log_is_tampered(root: Path, tmp_path: Path) -> None:

    with open_log(tmp_path / "other", OTHER_KEYS, settings()) as log:
        run_one(log)
    head(root).write_bytes(head(tmp_path / "other").read_bytes())
    assert verified(root).code is Code.TAMPERED


def test_the_head_of_another_log_of_the_same_key_is_tampered(root: Path, tmp_path: Path) -> None:
    with opened(tmp_path / "other") as log:
        run_one(log)
    head(root).write_bytes(head(tmp_path / "other").read_bytes())
    assert verified(root).code is Code.TAMPERED


def test_two_logs_one_after_the_other_are_tampered(root: Path) -> None:
    text = b"".join(path.read_bytes() for path in segments(root))
    edit(lambda found: found.append(text), -1)(root)
    assert verified(root).code is Code.TAMPERED


def test_an_empty_log_with_its_head_is_clean(tmp_path: Path) -> None:
    opened(tmp_path).close()
    report = verified(tmp_path)
    assert (report.code, report.records) == (Code.OK, 0)


def test_intents_without_outcome_are_named(tmp_path: Path) -> None:
    with opened(tmp_path) as log:
        log.append(intent("open"), sync=True)
    report = verified(tmp_path)
    assert (report.code, report.unresolved) == (Code.OK, ("open",))


def test_a_log_in_use_verifies_up_to_its_last_durable_record(tmp_path: Path) -> None:
    with opened(tmp_path) as log:
        for number in range(6):
            log.append(intent(f"a{number}"), sync=True)
            assert verified(tmp_path).code is Code.OK
            log.append(outcome(f"a{number}"), sync=False)
            report = verified(tmp_path)
            assert (report.code, report.seq) == (Code.UNCOVERED, 2 * number + 1)
    assert verified(tmp_path).code is Code.OK


def signed(root: Path, *changes: dict[str, object]) -> Path:
    """A log in which chain, tree and signature are right, whatever its records say."""
    (root / "log").mkdir()
    (root / "head").mkdir()
    frontier, prev, text = chain.Frontier(), chain.GENESIS, b""
    for seq, change in enumerate(changes):
        record = {"v": 1, "seq": seq, "id": "x", "ts": 1, "mono": 1, "writer": "w", "prev": prev}
        line = json.dumps({**record, **change}).encode()
        frontier, prev = frontier.append(chain.leaf_hash(line)), chain.line_hash(line)
        text += line + b"\n"
    (root / "log" / ("0" * 20 + ".jsonl")).write_bytes(text)
    head(root).write_bytes(chain.checkpoint(frontier, KEYS.public, KEYS.head.sign))
    return root


INTENT = {"kind": "intent", "action_id": "a"}
OUTCOME = {"kind": "outcome", "action_id": "a"}
EMPTY = {"size": 0, "root": hashlib.sha256(b"").hexdigest()}


@pytest.mark.parametrize(
    ("changes", "code", "seq"),
    [
        ([INTENT, OUTCOME], Code.OK, None),
        ([{**INTENT, "segment": EMPTY}, OUTCOME], Code.OK, None),
        ([INTENT, OUTCOME, INTENT, {**OUTCOME, "kind": "unresolved"}], Code.OK, None),
        ([OUTCOME], Code.TAMPERED, 0),
        ([{**OUTCOME, "kind": "unresolved"}], Code.TAMPERED, 0),
        ([INTENT, OUTCOME, OUTCOME], Code.TAMPERED, 2),
        ([INTENT, INTENT], Code.TAMPERED, 1),
        ([INTENT, {**OUTCOME, "segment": EMPTY}], Code.TAMPERED, 1),
        ([{**INTENT, "segment": {**EMPTY, "root": "0" * 64}}], Code.TAMPERED, 0),
        ([INTENT, {**OUTCOME, "v": 2}], Code.CORRUPT, 1),
        ([INTENT, {**OUTCOME, "v": True}], Code.CORRUPT, 1),
        ([{**INTENT, "writer": 7}], Code.CORRUPT, 0),
        ([{"action_id": "no kind"}], Code.CORRUPT, 0),
    ],
)
def test_a_signature_does_not_make_wrong_records_right(
    tmp_path: Path, changes: list[dict[str, object]], code: Code, seq: int | None
) -> None:
    report = verified(signed(tmp_path, *changes))
    assert (report.code, report.seq) == (code, seq), report.message
