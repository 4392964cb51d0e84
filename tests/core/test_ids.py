"""Derived names: the same things are named alike in every replay, and lead back to where they came from."""

from hypothesis import given
from hypothesis import strategies as st

from pollux.core.ids import RunId, grant_id, is_thread_id
from pollux.core.run import action_id, approval_id, run_of

RUN = RunId("run_01J")

stems = st.from_regex(r"[0-9A-Za-z_-]{1,30}", fullmatch=True)
small = st.integers(0, 99)


def test_names_are_derived_in_this_form():
    action = action_id(RUN, 2, 0)

    assert action == "act_01J_2.0"
    assert action_id(RUN, 2, 0, 3) == "act_01J_2.0.3"
    assert approval_id(action) == "apr_01J_2.0"
    assert grant_id(approval_id(action), 1) == "gnt_01J_2.0_1"


def test_a_threads_name_leads_nowhere_else():
    assert all(is_thread_id(text) for text in ("thr_01J", "2026-01-01T10.a", "x" * 128))
    assert not any(is_thread_id(text) for text in ("", "../x", ".hidden", "a/b", "a b", "x" * 129, "a\n"))


@given(stems, small, small, small)
def test_an_action_and_its_approval_lead_back_to_their_run(stem: str, turn: int, index: int, revision: int):
    run = RunId(f"run_{stem}")
    action = action_id(run, turn, index, revision)

    assert run_of(action) == run_of(approval_id(action)) == run


@given(st.lists(st.tuples(stems, small, small, small), min_size=2, max_size=2, unique=True))
def test_different_calls_have_different_names(places: list[tuple[str, int, int, int]]):
    first, second = (action_id(RunId(f"run_{stem}"), *rest) for stem, *rest in places)

    assert first != second
    assert approval_id(first) != approval_id(second)
    assert grant_id(approval_id(first), 0) != grant_id(approval_id(second), 0)
