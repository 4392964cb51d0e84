"""A changed copy of a frozen value, as `dataclasses.replace` would make it."""

from dataclasses import replace

import pytest
from tests.core.builders import ran

from pollux.core.run import evolve


def test_a_changed_copy_equals_what_the_standard_library_makes():
    run = ran("a").hold("a").run

    assert evolve(run, turn=7, driver="e") == replace(run, turn=7, driver="e")
    assert evolve(run.open[0], interrupted=True) == replace(run.open[0], interrupted=True)


def test_the_value_that_was_copied_stays_as_it_was():
    run = ran("a").hold("a").run

    evolve(run, turn=7)
    assert run == ran("a").hold("a").run


def test_a_field_that_does_not_exist_is_refused():
    with pytest.raises(AssertionError, match="Run has no such field"):
        evolve(ran("a").run, trun=7)
