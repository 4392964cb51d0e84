"""Numbers that others have written."""

import sys

import pytest

from pollux.wire.floats import finite


@pytest.mark.parametrize("number", [1.5e300, -5e-324, 0.1, 1e21, 123456789.123456789, sys.float_info.max])
def test_a_number_is_read_as_it_was_written(number: float):
    assert finite(repr(number)) == number


@pytest.mark.parametrize("written", ["1e999", "-1e999"])
def test_a_number_that_is_too_large_is_not_read(written: str):
    with pytest.raises(ValueError, match="too large"):
        finite(written)
