"""Messages read from lines that anybody may have written."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollux.acp.rpc import Notification, Reply, Request, encoded, parse

json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
almost = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | json_values,
        "id": json_values,
        "method": st.just("session/update") | json_values,
        "params": json_values,
        "result": json_values,
        "error": json_values,
    },
)


def line(**fields: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **fields}).encode()


def test_a_message_is_a_request_a_notification_or_a_reply():
    assert parse(line(id="a", method="m", params={"x": 1})) == Request("a", "m", {"x": 1}, 64)
    assert parse(line(method="m")) == Notification("m", {}, 33)
    assert parse(line(id=3, result=None)) == Reply(3, None)
    assert parse(line(id=3, error={"code": 1}, result=5)) == Reply(3, error={"code": 1})
    assert parse(line(id=3, error="text")) == Reply(3, error={})


@pytest.mark.parametrize(
    "text",
    [
        b"", b"{}", b"[]", b"3", b"null", b'"x"', b"{", b"\xff", b"log line", line(), line(id=1), line(result=1),
        line(id=True, result=1), line(id=1.0, result=1), line(id=[], method="m"), line(id={}, result=1),
        line(id="x" * 2000, method="m"), line(method=3), line(id=1, method=None, params={}),
        b'{"jsonrpc":"1.0","method":"m"}', b'{"method":"m"}', b'{"jsonrpc":"2.0","method":"m","params":{"a":NaN}}',
        b"[" * 100_000, b'{"jsonrpc":"2.0","id":' + b"9" * 10_000 + b',"result":1}',
    ],
)  # fmt: skip
def test_what_is_no_message_reads_as_none(text: bytes):
    assert parse(text) is None


def test_half_characters_and_nuls_become_replacements_and_whole_ones_stay():
    text = rb'{"jsonrpc":"2.0","method":"\ud83d a\u0000 \ude00\ud83d\ude00 \\ud800 \\u0000 \n\u00e9"}'
    assert parse(text) == Notification("\ufffd a\ufffd \ufffd😀 \\ud800 \\u0000 \né", {}, len(text))


@given(almost.map(lambda message: json.dumps(message).encode()) | st.binary(max_size=200))
def test_nothing_that_arrives_is_an_exception(text: bytes):
    match parse(text):
        case Request(id=id) | Reply(id=id):
            assert id is None or (isinstance(id, int | str) and not isinstance(id, bool))
        case Notification() | None:
            pass


@given(st.integers(-(2**60), 2**60) | st.text(max_size=20), json_values)
def test_what_we_write_reads_back_as_one_line(id: int | str, result: Any):
    written = encoded({"id": id, "result": result})
    assert written.count(b"\n") == 1 and written.endswith(b"\n")
    again = json.loads(written)
    assert (again["jsonrpc"], again["id"]) == ("2.0", id)
