"""Whatever a file holds, it is a runbook or a ValidationError: no crash, no hang."""

import json
import time
from contextlib import suppress

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.runbooks.documents.parts import ID, agent, uuid

from pollux.core.errors import ValidationError
from pollux.runbooks.documents import Form, read
from pollux.runbooks.documents.style import to_yaml

FORMS = st.sampled_from(["atrb", "json"])
GOOD = {"id": ID, "name": "A", "version": 1, "content": [agent(prompt="{{ var.x }}", timeoutSeconds=5)]}
SEEDS = [
    to_yaml(GOOD),
    json.dumps(GOOD, indent=1),
    f"id: {ID}\ncontent:\n- &a {{id: {uuid(1)}, type: script, props: {{code: |\n  x\n}}}}\n- *a\n",
]
PIECES = [
    "&a",
    "*a",
    "!!x",
    "!",
    "|",
    ">-",
    "- ",
    "? ",
    ": ",
    "{",
    "}",
    "[",
    "]",
    "'",
    '"',
    "\\",
    "#",
    "%",
    "---",
    "...",
    "\n",
    "\t",
]
JUNK = st.text(max_size=20) | st.sampled_from([*PIECES, "\0", "\ufeff", "\u2028", "\x85", "1e999", "<<", "~"])


def holds(source: str | bytes, form: Form | None) -> None:
    began = time.process_time()
    with suppress(ValidationError):
        runbook = read(source, form=form)
        assert runbook.source.encode() == (source.encode() if isinstance(source, str) else source)
    assert time.process_time() - began < 5


@settings(deadline=None)
@given(st.binary(max_size=200), FORMS | st.none())
def test_any_bytes(source: bytes, form: Form | None) -> None:
    holds(source, form)


@settings(deadline=None)
@given(st.lists(st.sampled_from(PIECES) | st.sampled_from("ab01 ,"), max_size=60).map("".join), FORMS)
def test_any_heap_of_signs(source: str, form: Form) -> None:
    holds(source, form)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(SEEDS), st.lists(st.tuples(st.integers(0, 400), st.integers(0, 12), JUNK), max_size=4), FORMS)
def test_a_good_document_with_wounds(source: str, wounds: list[tuple[int, int, str]], form: Form) -> None:
    for at, length, junk in wounds:
        source = source[:at] + junk + source[at + length :]
    holds(source, form)


@settings(deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8),
        lambda x: (
            st.lists(x, max_size=3)
            | st.dictionaries(
                st.sampled_from(["id", "type", "props", "content", "children", "source", "model", "x"]), x, max_size=4
            )
        ),
        max_leaves=30,
    )
)
def test_any_json_value_as_a_document(value: object) -> None:
    holds(json.dumps(value), "json")
    holds(json.dumps({"id": ID, "content": [value]}), None)
