"""The tree of errors: each has a stable code and a text that is safe to show."""

import pytest

from pollux.core import errors
from pollux.core.errors import (
    AuthError,
    Misfit,
    ModelError,
    PolluxError,
    ThreadBusy,
    ToolError,
    ToolExecutionError,
    TooNew,
)

CODES = {
    "PolluxError": "error",
    "ValidationError": "invalid",
    "MissingCredential": "missing_credential",
    "AuthError": "auth_error",
    "PolicyError": "policy_denied",
    "ToolExecutionError": "tool_call_failure",
    "ToolError": "tool_call_failure",
    "OutcomeUnknown": "outcome_unknown",
    "ModelError": "model_error",
    "NotFound": "not_found",
    "SessionNotFound": "session_not_found",
    "ThreadBusy": "thread_busy",
    "Misfit": "misfit",
    "Conflict": "conflict",
    "StoreError": "store_error",
    "StoreRestored": "store_restored",
    "TooNew": "too_new",
    "Draining": "draining",
}


def _tree() -> dict[str, type[PolluxError]]:
    classes = (found for found in vars(errors).values() if isinstance(found, type))
    return {found.__name__: found for found in classes if issubclass(found, PolluxError)}


def test_every_error_has_its_code_and_stands_in_the_tree_of_the_docstring():
    assert {name: found.code for name, found in _tree().items()} == CODES
    for name in CODES:
        assert name in (errors.__doc__ or "")


def test_an_error_may_carry_a_more_precise_code_than_its_class():
    assert (Misfit("no").code, Misfit("no", code="expired").code, Misfit.code) == ("misfit", "expired", "misfit")
    assert str(Misfit("no", code="expired")) == "no"


def test_an_auth_error_says_where_to_connect():
    problem = AuthError("connect Gmail first", code="missing_scope", connect_url="https://example.com/connect")

    assert (problem.code, problem.connect_url) == ("missing_scope", "https://example.com/connect")


def test_a_model_error_says_whether_anybody_may_try_again():
    problem = ModelError("slow down", kind="rate_limit", retry_after=2.5, started=True)

    assert (problem.kind, problem.retry_after, problem.started) == ("rate_limit", 2.5, True)


def test_a_busy_thread_names_the_run_that_keeps_it():
    assert ThreadBusy("busy", run_id="run_1").run_id == "run_1"


def test_a_tools_own_error_can_be_caught_as_any_execution_error():
    with pytest.raises(ToolExecutionError, match="no such mailbox"):
        raise ToolError("no such mailbox")


def test_what_is_too_new_says_which_version_can_read_it():
    assert TooNew("written by a newer one", version=7).version == 7
