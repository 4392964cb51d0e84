"""What is said of a value that a schema refuses."""

import pytest

from pollux.core.errors import ValidationError
from pollux.engine.schemas import check, validator


def test_of_a_union_the_member_that_was_meant_says_what_is_wrong():
    schema = validator({"anyOf": [{"type": "string"}, {"type": "object", "required": ["to"]}]})
    with pytest.raises(ValidationError, match='"to" is a required property'):
        check(schema, {})


def test_a_value_that_fits_two_of_which_it_may_fit_one_is_refused_in_words():
    schema = validator({"oneOf": [{"type": "number"}, {"type": "integer"}]})
    with pytest.raises(ValidationError, match="more than one"):
        check(schema, 1)
