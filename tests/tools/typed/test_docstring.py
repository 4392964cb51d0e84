"""What a docstring says of the whole, and of each parameter."""

import pytest

from pollux.tools.typed.docstring import Docstring, read

GOOGLE = """Find a flight.

    Only direct ones.

    Args:
        origin (str): where from
        day (date, optional): when: a day,
            or an hour of it
        **more: whatever else

    Returns:
        flights: a list
    """
NUMPY = """Find a flight.

    Only direct ones.

    Parameters
    ----------
    origin : str
        where from
    day : date, optional
        when: a day,
        or an hour of it
    more
        whatever else

    Returns
    -------
    flights
        a list
    """
SPHINX = """Find a flight.

    Only direct ones.

    :param origin: where from
    :type origin: str
    :param date day: when: a day,
        or an hour of it
    :param \\**more: whatever else
    :returns: a list

    And no more.
    """.replace("\\", "")


@pytest.mark.parametrize("text", [GOOGLE, NUMPY, SPHINX])
def test_three_styles_say_the_same(text: str):
    said = {"origin": "where from", "day": "when: a day, or an hour of it", "more": "whatever else"}
    assert read(text) == Docstring("Find a flight.\n\nOnly direct ones.", said)


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        (None, ""),
        ("", ""),
        ("One line.", "One line."),
        ("See :class:`Flight` for more.\n\n:class:`Flight` is described there.", None),
        ("Note: this line is no heading.", None),
        ("Ends with a heading.\n\nArgs:", "Ends with a heading."),
        ("Args:\n    x: only parameters", ""),
        ("Shows code.\n\nExample:\n    >>> f(x: 1)", "Shows code."),
    ],
)
def test_what_is_no_section_belongs_to_the_summary(text: str | None, summary: str | None):
    assert read(text).summary == (text if summary is None else summary)


def test_parameters_that_share_a_line_share_what_is_said():
    assert read("Add.\n\nParameters\n----------\na, b : int\n    a number").parameters == {
        "a": "a number",
        "b": "a number",
    }


def test_a_line_that_is_no_parameter_ends_the_one_before():
    said = read("Add.\n\nArgs:\n    a: a number\n    and this is nothing\n        nor this\n    b: another")
    assert said.parameters == {"a": "a number", "b": "another"}
