"""`args` of a rule still works, and says that it is deprecated where the author of the agent wrote it."""

import warnings

import pytest

from pollux.core.policy import Rule
from pollux.sdk.policy import rules_of


def test_a_rule_with_args_from_python_says_that_they_are_deprecated():
    with pytest.warns(DeprecationWarning, match="`args` of a rule searches .* Use `where`") as said:
        (rule,) = rules_of(["ask", Rule("deny", tool="x", args="^a")])
    assert said[0].filename == __file__ and rule.args == "^a"


def test_a_rule_without_args_says_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rules_of(["allow_all", Rule("deny", tool="x")])
