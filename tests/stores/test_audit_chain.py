"""The chain's own arithmetic, against the plain definition."""

import hashlib
import hmac
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path
from threading import Barrier
from typing import Any
from unicodedata import is_normalized

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollux.core.canonical import canonical
from pollux.core.errors import ValidationError
from pollux.engine.ports import AuditEntry, AuditFact
from pollux.stores.audit import GENESIS, Tip, chained, hash_of
from pollux.stores.heads import Heads

KEY = b"k" * 32
texts = st.text(st.characters(exclude_categories=["Cs"]))


@given(texts, texts, st.floats(0, 1e12), st.none() | st.floats(0, 1e12))
def test_a_hash_is_sha_256_of_the_canonical_json_of_all_other_fields(
    user: str, message: str, at: float, ended: float | None
):
    [kept] = chained([AuditFact(at, "decided", user, message=message, ended_at=ended)], Tip(), KEY)
    others = asdict(kept.entry)
    own = others.pop("hash")
    if is_normalized("NFC", user + message):
        assert own == hashlib.sha256(canonical(others)).hexdigest()
    else:
        assert own != hashlib.sha256(canonical(others)).hexdigest(), "another text has another hash"


numbers = (
    st.floats(allow_nan=False) | st.floats(1e-7, 1e-3) | st.floats(2.0**52, 2.0**54) | st.integers(0, 9).map(float)
)


@given(numbers, st.none() | numbers, st.integers(-(2**63), 2**63 - 1))
def test_every_number_is_hashed_as_rfc_8785_writes_it_or_not_at_all(at: float, started: float | None, seq: int):
    [kept] = chained([AuditFact(1.5, "decided", "ada")], Tip(), KEY)
    entry = replace(kept.entry, seq=seq, at=at, started_at=started)
    others = asdict(entry)
    del others["hash"]
    try:
        expected = hashlib.sha256(canonical(others)).hexdigest()
    except ValidationError:
        expected = ""
    assert hash_of(entry) == expected


@pytest.mark.parametrize(
    ("name", "value"), [("user", b"foo"), ("user", 7), ("user", None), ("at", 7), ("at", None), ("ended_at", "7.5")]
)
def test_a_value_of_another_kind_has_another_hash_than_the_one_it_is_written_like(name: str, value: Any):
    written = {b"foo": "Zm9v", 7: "7", None: "null", "7.5": 7.5}[value]
    [kept] = chained([AuditFact(1.5, "decided", "Zm9v", ended_at=7.5)], Tip(), KEY)
    entry: AuditEntry = replace(kept.entry, **{name: written})
    assert hash_of(replace(entry, **{name: value})) != hash_of(entry)


def test_entries_are_numbered_and_linked():
    first, second = chained([AuditFact(1.0, "decided", "ada"), AuditFact(2.0, "started", "ada")], Tip(), KEY)
    assert (first.entry.seq, first.entry.previous) == (1, GENESIS)
    assert (second.entry.seq, second.entry.previous) == (2, first.entry.hash)


def test_arguments_are_kept_as_a_keyed_digest():
    [kept] = chained([AuditFact(1.0, "decided", "ada", input=b'{"to":"bob"}')], Tip(), KEY)
    assert kept.entry.input_hash == hmac.new(KEY, b'{"to":"bob"}', "sha256").hexdigest()


def test_a_head_is_one_signed_line(tmp_path: Path):
    heads = Heads(tmp_path / "heads.jsonl", KEY)
    heads.append(Tip(3, "f" * 64), 5.0)
    [line] = (tmp_path / "heads.jsonl").read_text().splitlines()
    signature = hmac.new(KEY, f">3:{'f' * 64}".encode(), "sha256").hexdigest()
    assert json.loads(line) == {"seq": 3, "hash": "f" * 64, "at": 5.0, "after": "", "sig": signature}
    assert heads.read().heads == [Tip(3, "f" * 64)]


def test_a_head_after_one_that_a_dead_process_tore_stands_on_its_own_line(tmp_path: Path):
    path = tmp_path / "heads"
    Heads(path, KEY).append(Tip(1, "a" * 64), 1.0)
    path.write_bytes(path.read_bytes() + b'{"seq": 2, "ha')
    Heads(path, KEY).append(Tip(3, "c" * 64), 3.0)
    assert [tip.seq for tip in Heads(path, KEY).read().heads] == [1, 3]


def test_a_head_that_cannot_be_written_does_not_undo_the_commit(tmp_path: Path):
    heads = Heads(tmp_path / "missing" / "heads.jsonl", KEY)
    heads.append(Tip(1, "f" * 64), 5.0)
    assert not heads.read().heads


def test_a_file_of_heads_is_never_seen_without_a_line(tmp_path: Path):
    path, together = tmp_path / "heads.jsonl", 8
    # What a process leaves that dies while it makes the file.
    path.with_name("heads.jsonl.new").write_bytes(b'{"seq": 9, "hash": "half a line of another')
    start = Barrier(together + 1)

    def begin(seq: int) -> None:
        start.wait()
        Heads(path, KEY).append(Tip(seq, "a" * 64), 1.0)

    def look() -> None:
        start.wait()
        while (found := heads.read()).is_missing:
            pass
        assert not found.is_empty

    heads = Heads(path, KEY)
    with ThreadPoolExecutor(together + 1) as pool:
        done = [*(pool.submit(begin, seq) for seq in range(1, together + 1)), pool.submit(look)]
    for each in done:
        each.result()
    assert sorted(tip.seq for tip in heads.read().heads) == [*range(1, together + 1)]
    assert (heads.read().forged, heads.read().gaps) == (0, [])
