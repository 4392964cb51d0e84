"""What was read is written back as it was; what is changed leaves every other line as it was."""

import difflib
import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.runbooks.documents.parts import ID, agent, document, sample, uuid

from pollux.core.errors import ValidationError
from pollux.core.messages import JSON
from pollux.runbooks.documents import Form, Runbook, new_block, new_runbook, read, with_block, write
from pollux.runbooks.documents.nodes import plain
from pollux.runbooks.documents.reading import tree_of
from pollux.runbooks.documents.style import to_yaml

HAND = f"""\
# Kept by hand.
id: {ID}
name:   "By hand"   # with a comment
content:
  - id: {uuid(1)}   # the first
    type: script
    props:
      name: 'Build'
      code: >-
        make
        all
      # Not before Friday.
      interpreter: bash

  - {{id: {uuid(2)}, type: script, props: {{code: x}}}}
"""


def changed_lines(before: Runbook, after: Runbook) -> list[str]:
    lines = difflib.unified_diff(before.source.splitlines(), after.source.splitlines(), n=0, lineterm="")
    return [line for line in lines if line[0] in "+-" and line[:3] not in ("+++", "---")]


@pytest.mark.parametrize("name", ["Fetch-Release-Notes.atrb", "Run-Rust-tests.atrb"])
def test_a_document_written_anew_is_what_atuin_wrote(name: str) -> None:
    content = sample(f"atrb/{name}")
    assert to_yaml(plain(tree_of(content.decode(), "atrb"))).encode() == content


def test_a_changed_property_changes_its_own_lines_only() -> None:
    before = read(sample("atrb/Run-Rust-tests.atrb"))
    block = next(block for block in before.blocks if block.name == "Test")
    after = with_block(
        before, replace(block, props={**block.props, "code": "cargo test\ncargo doc", "timeoutSeconds": 60})
    )
    assert changed_lines(before, after) == [
        "-    code: cargo test",
        "+    code: |-",
        "+      cargo test",
        "+      cargo doc",
        "+    timeoutSeconds: 60",
    ]
    assert after.block(block.id) == replace(block, props=after.blocks[block.index].props)


def test_what_a_person_wrote_around_it_stays() -> None:
    before = read(HAND)
    block = before.blocks[0]
    after = with_block(before, replace(block, props={**block.props, "code": "make one"}))
    assert changed_lines(before, after) == [
        "-      code: >-",
        "-        make",
        "-        all",
        "+      code: make one",
    ]


def test_a_block_in_one_line_is_changed_too() -> None:
    before = read(HAND)
    after = with_block(before, replace(before.blocks[1], props={"code": "y"}))
    assert after.blocks[1].props == {"code": "y"}
    assert after.source == HAND.replace("props: {code: x}", 'props: {"code": "y"}')


REMARKS = f"""\
# Who to call: Bob.
id: {ID}
name: Deploy
content:
- id: {uuid(1)}
  type: agent
  props:
    name: ask   # the short one
    # Not the expensive one.
    source:
      type: internal   # ours
    prompt: Say what this is.   # asked by Ada
    notes: |+
      kept

  children: []   # none yet
# The end.
"""
PANEL: dict[str, JSON] = {
    "name": "ask",
    "source": {"type": "internal", "model": "gemini-2.5-pro"},
    "prompt": "Look at it.\nThen say what it is.",
    "systemPrompt": "# no remark",
    "timeoutSeconds": 60,
}


def in_one_line(text: str) -> str:
    start, end = text.index("  props:"), text.index("  children:")
    flow = "  props: {name: ask, source: {type: internal}, prompt: x, notes: y}   # asked by Ada\n"
    return text[:start] + flow + text[end:]


def without_notes(text: str) -> str:
    return text.replace("    notes: |+\n      kept\n\n", "")


@pytest.mark.parametrize(
    "text",
    [
        REMARKS,
        in_one_line(REMARKS),
        REMARKS.replace("\n", "\r\n"),
        "\ufeff" + REMARKS,
        "---\n" + REMARKS + "...\n",
        without_notes(REMARKS),
        REMARKS.replace("name: Deploy", "name: Grüße 😀"),
    ],
    ids=["by-hand", "in-one-line", "windows", "marked", "bounded", "last-with-a-remark", "wide"],
)
def test_no_remark_is_lost_when_a_panel_saves_an_agents_settings(text: str) -> None:
    before = read(text)
    block = before.blocks[0]
    wanted = {**block.props, **PANEL}
    after = with_block(before, replace(block, props=wanted))
    assert after.blocks[0].props == wanted

    def remarks(runbook: Runbook) -> list[str]:
        return [
            line.partition("#")[2] for line in runbook.source.splitlines() if "#" in line and "no remark" not in line
        ]

    assert remarks(after) == remarks(before)
    gone = [line for line in changed_lines(before, after) if line[0] == "-"]
    assert len(gone) == 1 and "asked by Ada" in gone[0]
    newlines = before.source.count("\r\n") and after.source.count("\n")
    assert after.source.count("\r\n") == newlines


def test_a_property_taken_away_is_gone() -> None:
    before = read(HAND)
    after = with_block(before, replace(before.blocks[0], props={"code": "x"}))
    assert after.blocks[0].props == {"code": "x"} and after.blocks[1].props == before.blocks[1].props


def test_json_keeps_its_other_lines_too() -> None:
    before = document(agent(prompt="one"), {"id": uuid(2), "type": "script", "props": {"code": "x"}})
    block = before.blocks[0]
    after = with_block(before, replace(block, props={**block.props, "prompt": "two"}))
    assert after.blocks[0].props["prompt"] == "two"
    assert after.source.split(uuid(2))[1] == before.source.split(uuid(2))[1]


def test_text_and_type_can_be_changed_in_a_nested_block() -> None:
    words: list[JSON] = [{"type": "text", "text": "a", "styles": {}}]
    inner: dict[str, JSON] = {"id": uuid(2), "type": "paragraph", "props": {}, "content": words}
    before = document({"id": uuid(1), "type": "heading", "props": {}, "children": [inner]})
    after = with_block(before, replace(before.blocks[1], type="quote", content="b"))
    assert (after.blocks[1].type, after.blocks[1].content) == ("quote", "b")


def test_no_change_is_the_same_runbook_and_an_unknown_block_is_refused() -> None:
    before = read(HAND)
    assert with_block(before, before.blocks[0]) is before
    with pytest.raises(ValidationError, match="no block"):
        with_block(before, replace(before.blocks[0], id=uuid(9)))


def test_a_change_that_could_not_be_read_is_refused() -> None:
    before = document(agent())
    with pytest.raises(ValidationError, match=r"^Missing source"):
        with_block(before, replace(before.blocks[0], props={}))


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)
SCALARS = st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    SCALARS
    | TEXTS
    | st.sampled_from(["no", "0777", "1e3", "", " a ", "a\n", "- x", "---", "&a", "a: b", "x #y", "\ta"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None)
@given(st.dictionaries(TEXTS, VALUES, max_size=4), TEXTS, st.sampled_from(["atrb", "json"]))
def test_what_is_written_reads_as_what_it_was(props: dict[str, JSON], name: str, form: Form) -> None:
    runbook = new_runbook(id=ID, name=name, content=[new_block("script", props, id=uuid(1))], form=form)
    assert runbook.name == name and runbook.blocks[0].props == props
    assert read(write(runbook), form=form) == runbook


@settings(deadline=None)
@given(st.dictionaries(TEXTS, VALUES, max_size=3), st.dictionaries(TEXTS, VALUES, max_size=3), st.booleans())
def test_any_change_reads_as_it_was_meant(old: dict[str, JSON], new: dict[str, JSON], keeps: bool) -> None:
    content = [new_block("script", old, id=uuid(n)) for n in (1, 2)]
    for form in ("atrb", "json"):
        before = new_runbook(id=ID, name="x", content=content, form=form)
        wanted = {**old, **new} if keeps else new
        after = with_block(before, replace(before.blocks[0], props=wanted))
        assert json.dumps(after.blocks[0].props, sort_keys=True) == json.dumps(wanted, sort_keys=True)
        assert after.blocks[1].props == old
