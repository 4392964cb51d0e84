"""The head of a Markdown file: read where it can be, refused with the line where it cannot."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pollux.core.errors import ValidationError
from pollux.tools.front_matter import LARGEST_HEAD, read_front_matter


def fields(head: str) -> dict[str, object]:
    return read_front_matter(f"---\n{head}\n---\nbody\n", name="SKILL.md").fields


def test_fields_lines_and_body_are_told_apart():
    head = read_front_matter(
        "\ufeff---\r\nname: a\r\n\r\nlicense: MIT\r\n---\r\n\r\n# Title\r\n---\r\nmore\r\n", name="x"
    )
    assert (head.fields, head.lines) == ({"name": "a", "license": "MIT"}, {"name": 2, "license": 4})
    assert head.body == "# Title\n---\nmore"


def test_values_stay_the_text_that_was_written():
    assert fields("a: 007\nb: 1.10\nc: yes\nd: null\ne: 2026-11-15\nf:") == {
        "a": "007",
        "b": "1.10",
        "c": "yes",
        "d": "null",
        "e": "2026-11-15",
        "f": "",
    }


@pytest.mark.parametrize(
    ("head", "description"),
    [
        ("description: Use when: asked", "Use when: asked"),
        ("description: Use when: asked\n  and: told\nname: a", "Use when: asked and: told"),
        ('description: "Quoted": and more', '"Quoted": and more'),
        ("description: @ is not YAML", "@ is not YAML"),
        ("description: |\n  One: two\n  three\nother: a: b", "One: two\nthree\n"),
        ("description: 'it: is'\nother: a: b", "it: is"),
        ("description: C:\\temp: x", "C:\\temp: x"),
        ("metadata:\n  author: a: b\ndescription: x", "x"),
    ],
)
def test_a_value_that_yaml_would_not_take_without_quotes_is_the_text_it_plainly_is(head: str, description: str):
    assert fields(head)["description"] == description


def test_fields_within_fields_survive_a_colon_elsewhere():
    assert fields("description: a: b\nmetadata:\n  author: me\n  tags: [x, y]") == {
        "description": "a: b",
        "metadata": {"author": "me", "tags": ["x", "y"]},
    }


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "line 1: expected fields .* found something else"),
        ("# Title", "line 1: expected fields .* found something else"),
        ("---\nname: a\n", "line 1: expected fields .* found no second line of `---`"),
        ("---\n---\n", "line 2: expected fields such as `name: …`, found none"),
        ("---\n- a\n---\n", "line 2: expected fields such as `name: …`, found none"),
        ("---\nname: a\ntags: [x\n---\n", "line 4: expected YAML .* but expected ',' or ']'"),
        ("---\nname: a\nb: \x00\n---\n", r"line 3: expected text, found the control character U\+0000"),
        ("---\n? [a]\n: b\n---\n", "expected YAML"),
        ("---\na: &x [y]\nb: *x\n---\n", "it has anchors and aliases"),
        ("---\na: " + "[" * 30 + "]" * 30 + "\n---\n", "nested more than 20 levels deep"),
        ("---\na: " + "[" * 30_000 + "]" * 30_000 + "\n---\n", "nested more than 20 levels deep"),
        ("---\na: " + "x" * LARGEST_HEAD + "\n---\n", "expected at most 64 KB of fields"),
    ],
)
def test_a_broken_head_is_refused_with_file_line_and_what_was_expected(text: str, told: str):
    with pytest.raises(ValidationError, match=rf"^skills/x/SKILL\.md, (?s:.*){told}"):
        read_front_matter(text, name="skills/x/SKILL.md")


@given(st.text(alphabet=st.sampled_from("ab:-'\"[]{}|>&*!?#%@` \n\t\0é\ud800"), max_size=60))
@example("&a [*a]")
def test_any_text_is_read_or_refused(head: str):
    try:
        assert isinstance(fields(head), dict)
    except ValidationError:
        pass
