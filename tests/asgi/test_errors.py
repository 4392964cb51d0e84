"""One shape for every error, a status for each class, and nothing but safe text."""

import json
import logging
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollux.asgi.bodies import encoded
from pollux.asgi.errors import INTERNAL, HttpError, Unavailable, rendered
from pollux.core.errors import (
    STORE_TROUBLE,
    AuthError,
    Conflict,
    Draining,
    Misfit,
    ModelError,
    NotFound,
    PolicyError,
    PolluxError,
    StoreError,
    ThreadBusy,
    ToolExecutionError,
    ValidationError,
)
from pollux.http.shapes import ApprovalView


def told(problem: Exception) -> tuple[int, dict[str, str], dict[str, Any]]:
    status, headers, document = rendered(problem, "req_1")
    answer = json.loads(encoded(document))
    assert answer.keys() == {"ok", "error"} and answer["ok"] is False
    assert answer["error"]["correlationId"] == "req_1"
    return status, headers, answer["error"]


@pytest.mark.parametrize(
    ("problem", "status", "code"),
    [
        (ValidationError("no"), 400, "invalid"),
        (ValidationError("no", code="no_recipient"), 400, "no_recipient"),
        (AuthError("no"), 401, "auth_error"),
        (PolicyError("no"), 403, "policy_denied"),
        (NotFound("no"), 404, "not_found"),
        (ThreadBusy("no", run_id="run_1"), 409, "thread_busy"),
        (Misfit("no"), 409, "misfit"),
        (Conflict("no"), 409, "conflict"),
        (HttpError(413, "too_large", "no"), 413, "too_large"),
        (Draining("no"), 503, "draining"),
        (StoreError("no"), 503, "store_error"),
        (Unavailable("no"), 503, "unavailable"),
    ],
    ids=lambda value: getattr(value, "code", value),
)
def test_a_class_has_its_status_and_its_code(problem: PolluxError, status: int, code: str):
    found, _, error = told(problem)
    said = STORE_TROUBLE if isinstance(problem, StoreError) else "no"
    assert (found, error["code"], error["message"]) == (status, code, said)


@pytest.mark.parametrize(
    "problem",
    [
        ValueError("the key is sk-123"),
        RecursionError(),
        PolluxError("root"),
        ModelError("m", kind="server"),
        ToolExecutionError("t"),
    ],
    ids=lambda problem: type(problem).__name__,
)
def test_what_nobody_foresaw_is_logged_and_told_without_a_word_of_its_own(
    problem: Exception, caplog: pytest.LogCaptureFixture
):
    status, _, error = told(problem)
    assert (status, error) == (500, {"code": "internal", "message": INTERNAL, "correlationId": "req_1"})
    [record] = caplog.records
    assert record.levelno == logging.ERROR
    assert record.message.startswith(f"a request failed (req_1): {type(problem).__name__} at")
    assert record.exc_info is None


def test_some_errors_say_more():
    assert told(ThreadBusy("no", run_id="run_1"))[2]["runId"] == "run_1"
    assert told(HttpError(409, "x", "no", more={"outcome": {"by": "ada"}}))[2]["outcome"] == {"by": "ada"}
    status, headers, error = told(AuthError("no", connect_url="https://example.com/"))
    assert (status, error["connectUrl"]) == (403, "https://example.com/")
    assert "www-authenticate" not in headers


def test_some_errors_have_headers():
    assert told(AuthError("no"))[1] == {"www-authenticate": 'Bearer realm="pollux"'}
    assert told(StoreError("no"))[1] == {"retry-after": "1"}
    assert told(HttpError(429, "x", "no", headers={"retry-after": "7"}))[1] == {"retry-after": "7"}


@given(st.text(), st.text())
def test_any_text_can_be_told(message: str, more: str):
    assert told(HttpError(400, "x", message, more={"more": [more]}))[0] == 400


def test_what_a_model_wrote_can_be_told_whatever_it_is():
    args = {"half \ud800": "\udfff", "huge": 10**400, "none": float("nan"), "over": float("inf")}
    view = ApprovalView(
        id="apr_1",
        tool="note",
        reason="",
        preview="",
        args=args,
        args_hash="",
        expires_at="",
        subjects=[],
        provenance=[],
        scopes=[],
    )
    approval = told(HttpError(409, "thread_busy", "no", more={"approvals": [view]}))[2]["approvals"][0]
    assert approval["args"] == {"half ?": "?", "huge": 10**400, "none": None, "over": None}


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.text(st.characters(categories=["Cs"])),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=20,
    )
)
def test_every_value_has_a_form_as_json(value: Any):
    line = encoded({"type": "x", "value": value})
    assert b"\n" not in line
    assert json.loads(line, parse_constant=pytest.fail)["type"] == "x"


def test_what_msgspec_can_write_is_as_msgspec_writes_it():
    value = {"a": [1, 1.5, None, "é"], "b": {"c": True}}
    assert encoded(value) == msgspec.json.encode(value)
    assert json.loads(encoded({**value, "huge": 2**80})) == {**value, "huge": 2**80}
