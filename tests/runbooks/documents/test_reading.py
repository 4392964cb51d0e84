"""Runbooks are read as Atuin reads them, and whatever is wrong is told with block and line."""

import json
import time

import pytest
from tests.runbooks.documents.parts import ID, document, sample, uuid

from pollux.core.errors import ValidationError
from pollux.core.messages import JSON
from pollux.runbooks.documents import MAX_BYTES, Block, read, write

HEAD = f"id: {ID}\nname: A runbook\nversion: 1\ncontent:\n"
SCRIPT = HEAD + f"- id: {uuid(1)}\n  type: script\n  props:\n    name: Build\n    code: make\n"


def props_of(lines: str) -> JSON:
    """The properties of one block, as the lines of YAML give them."""
    indented = "".join(f"    {line}\n" for line in lines.splitlines())
    return read(f"{HEAD}- id: {uuid(1)}\n  type: script\n  props:\n{indented}").blocks[0].props


def refusal(text: str | bytes) -> str:
    with pytest.raises(ValidationError) as caught:
        read(text)
    return str(caught.value)


@pytest.mark.parametrize("name", ["Fetch-Release-Notes.atrb", "Run-Rust-tests.atrb"])
def test_files_that_atuin_wrote_are_read_without_a_warning_and_written_back_byte_for_byte(name: str) -> None:
    content = sample(f"atrb/{name}")
    runbook = read(content)
    assert runbook.warnings == ()
    assert runbook.form == "atrb" and len(runbook.blocks) > 10
    assert write(runbook) == content


def test_a_block_knows_its_name_its_text_and_its_line() -> None:
    runbook = read(sample("atrb/Fetch-Release-Notes.atrb"))
    script = next(block for block in runbook.blocks if block.type == "script")
    lines = runbook.source.splitlines()
    assert script.name == "Fetch release notes"
    assert lines[script.line - 1] == f"- id: {script.id}"
    listed = [block.content for block in runbook.blocks if block.type == "bulletListItem"]
    assert listed == ["gh: https://cli.github.com/", "jq: https://jqlang.org/"]


def test_json_is_read_as_yaml_is() -> None:
    one = read(SCRIPT)
    other = document({"id": uuid(1), "type": "script", "props": {"name": "Build", "code": "make"}})
    assert (one.id, one.name, one.version, one.form, other.form) == (other.id, other.name, 1, "atrb", "json")
    assert one.blocks[0].props == other.blocks[0].props
    assert (one.blocks[0].line, other.blocks[0].line) == (5, 6)


def test_a_bare_list_of_blocks_is_a_runbook_whose_id_comes_from_its_text() -> None:
    text = json.dumps([{"id": uuid(1), "type": "script", "props": {}}])
    assert read(text).id == read(text).id != read(text + " ").id
    assert read(text).name == ""


def test_nested_blocks_follow_the_one_around_them() -> None:
    inner: JSON = {"id": uuid(2), "type": "script", "props": {}}
    outer: JSON = {"id": "initialBlockId", "type": "heading", "props": {}, "children": [inner]}
    runbook = document(outer, {"id": uuid(3), "type": "script", "props": {}})
    assert [(block.id, block.index, block.depth) for block in runbook.blocks] == [
        ("initialBlockId", 0, 0),
        (uuid(2), 1, 1),
        (uuid(3), 2, 0),
    ]


def test_words_mean_what_they_mean_to_atuin() -> None:
    told = props_of(
        "a: no\nb: on\nc: 'true'\nd: true\ne: 0777\nf: 2024-01-02\ng: 1_000\nh: 12:30\ni: ~\nj: 1e3\nk: 0x1f"
    )
    expected = {
        "a": "no",
        "b": "on",
        "c": "true",
        "d": True,
        "e": "0777",
        "f": "2024-01-02",
        "g": "1_000",
        "h": "12:30",
    }
    assert told == {**expected, "i": None, "j": 1000.0, "k": 31}


def test_a_merge_key_is_an_ordinary_key() -> None:
    assert props_of("'<<': x") == {"<<": "x"}


# Warnings


def test_a_block_of_an_unknown_type_is_warned_about_with_block_and_line() -> None:
    runbook = document({"id": uuid(7), "type": "runbook-link", "props": {"name": "Next"}})
    [notice] = runbook.warnings
    assert "runbook-link" in str(notice) and "'Next'" in str(notice) and uuid(7) in str(notice)
    assert notice.line == 6 and f"line {notice.line}" in str(notice)
    assert not notice.is_hazard


@pytest.mark.parametrize(
    ("type_", "name", "value", "kind"),
    [
        ("script", "code", "123", "a number"),
        ("terminal", "code", "false", "true or false"),
        ("http", "body", "{a: 1}", "an object"),
        ("dropdown", "fixedOptions", "[a, b]", "a list"),
        ("var", "value", "1.5", "a number"),
    ],
)
def test_what_must_be_text_and_is_none_is_told_with_block_and_line(type_: str, name: str, value: str, kind: str):
    id_ = "019abe12-2fae-7803-a241-ce877f6d3df1"
    head = f"id: {id_}\nname: x\nversion: 1\ncontent:\n"
    runbook = read(f"{head}- id: {id_}\n  type: {type_}\n  props:\n    {name}: {value}\n")
    assert runbook.hazard is not None
    expected = f"{name} must be text, found {kind}. Put it in quotes ({type_} block id {id_}, line 5)"
    assert (str(runbook.hazard), runbook.hazard.block, runbook.hazard.line) == (expected, id_, 5)


def test_a_word_that_other_readers_take_for_a_truth_is_text():
    id_ = "019abe12-2fae-7803-a241-ce877f6d3df1"
    block = f"- id: {id_}\n  type: script\n  props:\n    code: no\n"
    assert read(f"id: {id_}\nname: x\nversion: 1\ncontent:\n{block}").warnings == ()


@pytest.mark.parametrize(
    ("type_", "props", "is_hazard"),
    [
        ("mysql", {}, False),
        ("ssh-connect", {"userHost": "root@db"}, True),
        ("host-select", {"host": "db"}, True),
        ("host-select", {"host": "local"}, False),
    ],
)
def test_what_would_have_moved_to_another_machine_is_a_hazard(type_: str, props: JSON, is_hazard: bool) -> None:
    [notice] = document({"id": uuid(1), "type": type_, "props": props}).warnings
    assert notice.is_hazard is is_hazard


def test_a_dependency_is_an_object_written_as_text() -> None:
    good = {"id": uuid(1), "type": "script", "props": {"dependency": '{"parents": []}'}}
    bad = {"id": uuid(2), "type": "script", "props": {"dependency": "[1]"}}
    [notice] = document(good, bad).warnings
    assert notice.block == uuid(2) and "dependency" in str(notice)


def test_a_newer_version_is_read_with_a_warning() -> None:
    [notice] = read(SCRIPT.replace("version: 1", "version: 2")).warnings
    assert "version 2" in str(notice)


# Errors


@pytest.mark.parametrize(
    ("block", "beginning"),
    [
        ({"type": "script", "props": {}}, "Missing block id"),
        ({"id": 5, "type": "script", "props": {}}, "Missing block id"),
        ({"id": uuid(1), "type": "script"}, "Missing props"),
        ({"id": uuid(1), "type": "script", "props": [1]}, "Missing props"),
        ({"id": "abc", "type": "script", "props": {}}, "Invalid block id: "),
        ({"id": uuid(1), "props": {}}, "Missing block type"),
        ("text", "Invalid block: "),
    ],
)
def test_a_block_that_lacks_something_is_told_by_the_words_of_the_contract(block: JSON, beginning: str) -> None:
    with pytest.raises(ValidationError) as caught:
        document({"id": uuid(9), "type": "paragraph", "props": {}}, block)
    assert str(caught.value).startswith(beginning)
    assert "line 11" in str(caught.value)


@pytest.mark.parametrize("form", ["urn:uuid:{}", "{{{}}}"])
def test_a_uuid_may_be_written_as_atuin_accepts_it(form: str) -> None:
    block: JSON = {"id": form.format(uuid(1)), "type": "script", "props": {}}
    assert document(block).blocks[0].id == form.format(uuid(1))


def test_two_blocks_that_run_do_not_share_an_id() -> None:
    block: JSON = {"id": uuid(1), "type": "script", "props": {}}
    with pytest.raises(ValidationError, match=r"^Duplicate block id: line 6 .* line 11"):
        document(block, {**block, "id": uuid(1).upper()})
    text: JSON = {"id": uuid(1), "type": "paragraph", "props": {}}
    assert len(document(text, text).warnings) == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty file"),
        ("just words", "expected a runbook"),
        ("content: 5", "expected a runbook"),
        ("name: x\ncontent: []", "Invalid runbook id"),
        (f"id: {ID}\nname: [1]\ncontent: []", "Invalid runbook name"),
        (f"id: {ID}\nversion: x\ncontent: []", "Invalid runbook version"),
        (f"id: {ID}\ncontent: [\n", "not valid YAML"),
        (f"id: {ID}\ncontent: []\ncontent: []", "'content' stands twice"),
        (SCRIPT + "    1: x", "text as a key"),
        (SCRIPT + "    x: !!python/object:os.system y", "tag"),
        (SCRIPT + "    x: .inf", "finite"),
        (SCRIPT + "    x: 99999999999999999999", "64 bits"),
        (SCRIPT + '    x: "\\0"', "NUL"),
        (SCRIPT + "    x: *nothing", "names nothing"),
        (SCRIPT + "    x: &a [*a]", "names nothing"),
        ("--- a\n--- b\n", "one document"),
        ("a\0b", "NUL"),
        (b"a: \xff", "UTF-8"),
        ('{"id": "x", "id": "y"}', "'id' stands twice"),
        ('{"a": NaN}', "not valid JSON"),
        ('{"a": "\\ud800"}', "surrogate"),
        ('{"a": 1e999}', "finite"),
        ('{"a": 1,}', "key in double quotes"),
        ("[1, 2", "the end"),
        ("[] x", "the end of the document"),
        ('["a\nb"]', "not valid JSON"),
    ],
)
def test_a_text_that_is_no_runbook_is_refused_in_words(text: str | bytes, words: str) -> None:
    told = refusal(text)
    assert words in told and len(told) < 400


# Limits


def refused_at_once(text: str) -> str:
    began = time.process_time()
    told = refusal(text)
    assert time.process_time() - began < 3
    return told


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x" * (MAX_BYTES + 1), "bytes"),
        ("é" * (MAX_BYTES // 2 + 1), "bytes"),
        ("[" * 500_000, "levels"),
        ("x: " + "{a: " * 200_000, "levels"),
        ("x: " + "[" * 500_000, "levels"),
        ("- " * 300_000, "levels"),
        ("a: 1\n" * 200_000, "twice"),
        ("- a\n" * 250_000, "values"),
        ("[" + "1," * 400_000 + "1]", "values"),
        ("a: &a [x, x]\n" + "".join(f"b{n}: *a\n" for n in range(30)), "aliases"),
        ("[" + "9" * 1_000_000 + "]", "64 bits"),
    ],
)
def test_a_document_beyond_the_limits_is_refused_before_it_is_built(text: str, words: str) -> None:
    assert words in refused_at_once(text)


def test_ten_lines_that_would_become_a_billion_are_refused() -> None:
    laughs = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    laughs += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    assert "aliases" in refused_at_once("\n".join(laughs))
    halves = ["a0: &a0 [" + "x, " * 9_000 + "x]"]
    halves += [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 9)]
    assert "values" in refused_at_once("\n".join(halves))


def test_aliases_do_not_nest_deeper_than_what_is_written_out() -> None:
    lines = ["a0: &a0 " + "[" * 40 + "]" * 40, "a1: " + "[" * 20 + "*a0" + "]" * 20]
    assert "levels" in refused_at_once("\n".join(lines))


def test_a_few_aliases_are_written_out() -> None:
    assert props_of("a: &x [1]\nb: *x") == {"a": [1], "b": [1]}


def test_a_runbook_has_at_most_two_thousand_blocks() -> None:
    blocks: list[JSON] = [{"id": uuid(n), "type": "script", "props": {}} for n in range(2001)]
    assert len(document(*blocks[:2000]).blocks) == 2000
    with pytest.raises(ValidationError, match="2000 blocks"):
        document(*blocks)


def test_a_block_of_our_own_needs_no_more_than_its_id_and_type() -> None:
    assert Block(uuid(1), "script").props == {}
