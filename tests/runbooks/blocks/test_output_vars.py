"""What programs write to set variables."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollux.runbooks.blocks.output_vars import parse


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", {}),
        ("a=1\n\nb=\nc=x=y\n", {"a": "1", "b": "", "c": "x=y"}),
        ("a=1\na=2", {"a": "2"}),
        ("a<<EOF\none\n  two\nEOF\nb=1", {"a": "one\n  two", "b": "1"}),
        ("a << END\nx=1\nEND\n", {"a": "x=1"}),
        ("a<<EOF\nnever closed", {"a": "never closed"}),
        ("a<<x=y\nz\nx=y", {"a": "z"}),
        ("a=cat <<EOF", {"a": "cat <<EOF"}),
        ("no variable\n=x\nwith space=x\n<<EOF\n", {}),
        ("a<<\nb=1", {"b": "1"}),
    ],
)
def test_lines_become_variables(text: str, found: dict[str, str]):
    assert parse(text) == found


@given(st.text(alphabet="ab=<\n E", max_size=40))
def test_whatever_is_written_is_read(text: str):
    assert all(name.isidentifier() for name in parse(text))
