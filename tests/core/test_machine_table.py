"""The machine as a table: every state, every kind of event, what becomes of it, or why it is refused."""

import pytest
from tests.core.builders import glance, refolded
from tests.core.states import SPECIMENS, STATES
from tests.core.table_ends import ENDS
from tests.core.table_model import MODEL
from tests.core.table_tools import TOOLS

from pollux.core.errors import Misfit
from pollux.core.events import EVENT_TYPES
from pollux.core.machine import conclude, step
from pollux.core.run import Run

TABLE = MODEL | TOOLS | ENDS


@pytest.mark.parametrize("state", STATES)
def test_every_event_does_to_a_state_what_its_table_says(state: str):
    run = STATES[state]().run

    assert {"now": glance(run)} | {name: _meet(run, name) for name in SPECIMENS} == TABLE[state]


@pytest.mark.parametrize("state", STATES)
def test_a_refused_event_leaves_the_run_as_it_was(state: str):
    run, untouched = STATES[state]().run, STATES[state]().run

    for name, specimen in SPECIMENS.items():
        if TABLE[state][name].startswith("refused"):
            with pytest.raises(Misfit):
                step(run, specimen(run))
            assert run == untouched, name


@pytest.mark.parametrize("state", STATES)
def test_an_accepted_event_raises_the_version_by_one_and_leaves_the_older_run_alone(state: str):
    run, untouched = STATES[state]().run, STATES[state]().run

    for name, specimen in SPECIMENS.items():
        if not TABLE[state][name].startswith("refused"):
            assert step(run, specimen(run)).version == run.version + 1, name
            assert run == untouched, name


@pytest.mark.parametrize("state", STATES)
def test_a_state_is_what_its_journal_tells(state: str):
    tale = STATES[state]()

    assert refolded(tale) == tale.run
    assert tale.run.version == len(tale.journal)


def test_every_pair_of_state_and_event_type_has_a_row():
    assert set(TABLE) == set(STATES)
    for state, table in TABLE.items():
        assert set(table) == {"now", *SPECIMENS}, state
    assert {name.partition(",")[0] for name in SPECIMENS} == set(EVENT_TYPES)


def test_every_specimen_is_an_event_of_the_type_it_is_named_after():
    run = STATES["one executing, one waiting"]().run
    for name, specimen in SPECIMENS.items():
        assert type(specimen(run)).__name__ == name.partition(",")[0]


@pytest.mark.parametrize("state", STATES)
def test_the_ending_that_is_due_is_the_only_one_that_fits(state: str):
    run = STATES[state]().run
    due = conclude(run, run.created_at + 1)

    fitting = {name for name in ("RunCompleted", "RunFailed", "RunCancelled") if "refused" not in TABLE[state][name]}
    assert fitting == ({type(due).__name__} if due else set())


def test_nothing_but_a_start_fits_where_there_is_no_run():
    run = STATES["claimed"]().run
    for name, specimen in SPECIMENS.items():
        if name == "RunStarted":
            assert glance(step(None, specimen(run))) == "queued: model 1.1"
        else:
            with pytest.raises(Misfit):
                step(None, specimen(run))


def _meet(run: Run, name: str) -> str:
    try:
        return glance(step(run, SPECIMENS[name](run)))
    except Misfit as misfit:
        return f"refused: {misfit.code}"
