"""Every way in which a file can be broken is told with the file, the line and what was expected, and soon."""

import os
import time
from pathlib import Path
from typing import Final

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.actions.lab import HEAD

from pollux.tools.actions.documents import DEEPEST, LARGEST, FileError
from pollux.tools.actions.metadata import load_action_metadata, read_action

BOMB: Final = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{after}: &{after} [{', '.join([f'*{before}'] * 9)}]\n"
    for before, after in zip("abcdefgh", "bcdefghi", strict=True)
)

BROKEN: Final[dict[str, tuple[str | bytes, int, str]]] = {
    "nothing": ("", 1, "found an empty file"),
    "comments alone": ("# nothing\n# at all\n", 1, "found an empty file"),
    "a word": ("sendMessage\n", 1, "expected fields"),
    "a list": ("- name: look\n- description: Look.\n", 1, "found a list"),
    "a number": ("\n42\n", 2, "found the number 42"),
    "two documents": (HEAD + "---\nname: other\n", 3, "a second one"),
    "an open bracket": (HEAD + "inputSchema: {a: string\n", 3, "expected YAML"),
    "an open quote": (HEAD + "inputSchema:\n  a: 'string\n", 4, "expected YAML"),
    "a tab": (HEAD + "inputSchema:\n\ta: string\n", 4, "indent with spaces"),
    "a tab after spaces": (HEAD + "inputSchema:\n  a:\n  \tb: string\n", 5, "expected YAML"),
    "crooked columns": (HEAD + "inputSchema:\n    a: string\n  b: string\n", 5, "expected YAML"),
    "a colon too many": ("name: look\ndescription: Look: there\n", 2, "expected YAML"),
    "an at sign": ("name: @look\ndescription: Look.\n", 1, "expected YAML"),
    "a key twice": (HEAD + "name: other\n", 3, "first in line 1"),
    "a member twice": (HEAD + "inputSchema:\n  a: string\n  b: number\n  a: number\n", 6, "'a' once"),
    "a member twice, once optional": (HEAD + "inputSchema:\n  a: string\n  a?: number\n", 5, "'a' once"),
    "a merge": (HEAD + "inputSchema:\n  <<: {a: string}\n", 4, "Write the members out"),
    "a list as a key": (HEAD + "? [a, b]\n: c\n", 3, "expected a name"),
    "an empty key": (HEAD + "inputSchema:\n  '': string\n", 4, "expected a name"),
    "a tag": (HEAD + "inputSchema: !!python/object:os.system {}\n", 3, "found the tag"),
    "a tag of our own": (HEAD + "inputSchema:\n  a: !secret string\n", 4, "found the tag"),
    "an alias of nothing": (HEAD + "inputSchema: *other\n", 3, "expected `&other`"),
    "an alias of itself": (HEAD + "inputSchema: &a\n  b: *a\n", 4, "expected `&a`"),
    "an alias bomb": (BOMB + HEAD, 5, "aliases written out"),
    "levels": (HEAD + "inputSchema: " + "[" * 100_000 + "\n", 3, f"at most {DEEPEST} levels"),
    "levels of mappings": (HEAD + "inputSchema: " + "{a: " * 5_000 + "\n", 3, f"at most {DEEPEST} levels"),
    "levels in a word": (HEAD + f"inputSchema:\n  a: string{'[]' * 100}\n", 4, f"at most {DEEPEST} levels"),
    "levels by aliases": (
        "a: &a " + "[" * 20 + "x" + "]" * 20 + "\nb: " + "[" * 20 + "*a" + "]" * 20 + "\n",
        2,
        f"at most {DEEPEST} levels",
    ),
    "10 MB": ("a: " + "x" * (10 << 20), 1, f"at most {LARGEST >> 10} KB"),
    "many values": ("- a\n" * 25_000, 20_000, "at most 20000 values"),
    "NUL": (HEAD.encode() + b"inputSchema:\n  a: st\x00ring\n", 4, "U+0000"),
    "an escape": (HEAD.encode() + b"# \x1b[31m\n", 3, "U+001B"),
    "UTF-16": (HEAD.encode("utf-16"), 1, "UTF-8"),
    "Latin-1": (HEAD.encode() + "# é\n".encode("latin-1"), 3, "UTF-8"),
    "no name": ("description: Look.\n", 1, "expected `name: …`"),
    "no description": ("name: look\n", 1, "expected `description: …`"),
    "an empty description": ("name: look\ndescription: ''\n", 2, "expected text as `description`"),
    "a description that is a list": ("name: look\ndescription:\n  - Look.\n", 3, "found a list"),
    "a description that is a number": ("name: look\ndescription: 42\n", 2, "the number 42"),
    "a description that is true": ("name: look\ndescription: true\n", 2, "the truth value true"),
    "a description without an end": (f"name: look\ndescription: {'a' * 5_000}\n", 2, "at most 4000"),
    "a name that is a number": ("name: 7\ndescription: Look.\n", 1, "the number 7"),
    "a name with a space": ("name: look here\ndescription: Look.\n", 1, "expected a name of up to 64"),
    "a name with a path": ("name: ../look\ndescription: Look.\n", 1, "expected a name of up to 64"),
    "a name without an end": (f"name: {'a' * 65}\ndescription: Look.\n", 1, "expected a name of up to 64"),
    "a slip in a key": (HEAD + "inputSchemas:\n  a: string\n", 3, "Did you mean inputSchema?"),
    "a list as input": (HEAD + "inputSchema:\n  - a: string\n", 4, "found a list"),
    "a word as input": (HEAD + "inputSchema: string\n", 3, "expected a mapping as inputSchema"),
    "an unknown type": (HEAD + "inputSchema:\n  a: strang\n", 4, "Did you mean string?"),
    "a type of another language": (HEAD + "inputSchema:\n  a: int\n", 4, "expected a type, found 'int'"),
    "an unknown type, deep": (HEAD + "inputSchema:\n  a:\n    - b:\n        c?: Date\n", 6, "found 'Date'"),
    "an unknown type as output": (HEAD + "outputSchema: prodct?\n", 3, "expected a type"),
    "an unknown type of items": (HEAD + "inputSchema:\n  a: foo[]\n", 4, "found 'foo'"),
    "an unknown type in a record": (HEAD + "inputSchema:\n  a: record(foo)\n", 4, "found 'foo'"),
    "an empty record": (HEAD + "inputSchema:\n  a: record()\n", 4, "found ''"),
    "an optional type": (HEAD + "inputSchema:\n  a: string?\n", 4, "`name?: string`"),
    "no type": (HEAD + "inputSchema:\n  a:\n", 4, "found nothing"),
    "a number as a type": (HEAD + "inputSchema:\n  a: 1\n", 4, "the number 1"),
    "an empty list": (HEAD + "inputSchema:\n  a: []\n", 4, "an empty list"),
    "an empty choice": (HEAD + "inputSchema:\n  a: enum()\n", 4, "different values"),
    "a choice with a gap": (HEAD + "inputSchema:\n  a: enum(a | | b)\n", 4, "different values"),
    "a choice between one": (HEAD + "inputSchema:\n  a: enum(a | a)\n", 4, "different values"),
    "a choice without an end": (HEAD + "inputSchema:\n  a: enum(a | b\n", 4, "expected a type"),
    "two question marks": (HEAD + "inputSchema:\n  a??: string\n", 4, "expected a name"),
    "a question mark alone": (HEAD + "inputSchema:\n  '?': string\n", 4, "expected a name"),
    "an import that is a list": (HEAD + "import:\n  - a.jay-contract\ninputSchema: {}\n", 4, "found a list"),
    "an import of nothing": (HEAD + "import:\n  card: card.jay-contract\n", 4, "found none"),
    "an import of another kind": (HEAD + "import:\n  card: card.yaml\n", 4, "ends in .jay-contract"),
    "an import from the root": (HEAD + "import:\n  card: /etc/card.jay-contract\n", 4, "inside of the plugin"),
    "an import that is a mapping": (HEAD + "import:\n  card:\n    a: b\n", 5, "found a mapping"),
    "an alias called string": (HEAD + "import:\n  string: a.jay-contract\n", 4, "no type as the alias"),
    "a schema with a foreign type": (
        HEAD + "inputSchema:\n  type: object\n  properties:\n    a:\n      type: text\n",
        7,
        "expected a type (string, number",
    ),
    "a schema with a word as a property": (
        HEAD + "inputSchema:\n  type: object\n  properties:\n    a: string\n",
        6,
        "expected JSON Schema",
    ),
    "two forms in one file": (
        HEAD + "inputSchema:\n  type: object\n  properties: {}\noutputSchema:\n  success: boolean\n",
        7,
        "expected a word of JSON Schema",
    ),
    "a slip in a schema": (
        HEAD + "inputSchema:\n  type: object\n  propertys: {}\n",
        5,
        "Did you mean properties?",
    ),
    "properties that are a list": (HEAD + "inputSchema:\n  type: object\n  properties: [a]\n", 5, "a mapping as prop"),
    "required that is a word": (
        HEAD + "inputSchema:\n  type: object\n  properties: {a: {}}\n  required: a\n",
        6,
        "a list of names",
    ),
    "required of what is not there": (
        HEAD + "inputSchema:\n  type: object\n  properties: {a: {}}\n  required:\n    - b\n",
        7,
        "the name of a property, found 'b'",
    ),
    "an enum that is a word": (
        HEAD + "inputSchema:\n  type: object\n  properties:\n    a: {enum: x}\n",
        6,
        "a list of values",
    ),
    "a default that does not fit": (
        HEAD + "inputSchema:\n  type: object\n  properties:\n    a:\n      type: number\n      default: ten\n",
        8,
        "a default that fits",
    ),
    "a schema that is none": (
        HEAD + "inputSchema:\n  type: object\n  properties: {a: {minimum: low}}\n",
        4,
        "not JSON Schema",
    ),
    "a schema from elsewhere": (
        HEAD + "inputSchema:\n  type: object\n  properties: {a: {$ref: 'http://127.0.0.1/x'}}\n",
        4,
        "not JSON Schema",
    ),
    "a number without an end": (
        HEAD + f"inputSchema:\n  type: object\n  properties: {{a: {{default: 1{'0' * 5_000}}}}}\n",
        5,
        "a number of bearable size",
    ),
}


def test_the_corpus_is_large_enough():
    assert len(BROKEN) >= 40


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_file_is_told_with_its_line_and_what_was_expected(case: str, tmp_path: Path):
    content, line, said = BROKEN[case]
    path = tmp_path / "look.jay-action"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    begun = time.process_time()
    with pytest.raises(FileError) as problem:
        load_action_metadata(path)
    assert time.process_time() - begun < 1
    assert str(problem.value).startswith(f"{path}:{line}: ") and said in str(problem.value), str(problem.value)
    assert len(str(problem.value)) < 1_000 and "\n" not in str(problem.value)


def test_a_file_that_is_not_there_is_told(tmp_path: Path):
    with pytest.raises(FileError, match="No such file"):
        load_action_metadata(tmp_path / "none.jay-action")
    with pytest.raises(FileError, match="cannot be read"):
        load_action_metadata(tmp_path / "a\0b.jay-action")


def test_what_is_no_file_is_not_waited_for(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe.jay-action")
    (tmp_path / "folder.jay-action").mkdir()
    for name in ("pipe", "folder"):
        with pytest.raises(FileError, match="expected a file"):
            load_action_metadata(tmp_path / f"{name}.jay-action")


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.one_of(st.binary(max_size=200), st.text(max_size=200).map(lambda text: (HEAD + text).encode("utf-8", "replace")))
)
@example(b"name: !!float .nan\ndescription: x")
def test_whatever_a_file_holds_it_is_read_or_told(tmp_path: Path, content: bytes):
    path = tmp_path / "look.jay-action"
    path.write_bytes(content)
    assert problem_with(path) <= len(content) + 1


WORDS = st.sampled_from(
    "name: description: inputSchema: outputSchema: import: a: a?: - {} [] [ ] { } string number[] enum(a|b) record(x) "
    "type: object array properties: items: required: default: & * &a *a ! | > ' \" # ? : , true null 1e999 \t".split(
        " "
    )
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from(["\n", "\n  ", "\n    ", " "]), WORDS), max_size=30))
def test_whatever_words_a_file_is_made_of_it_is_read_or_told(tmp_path: Path, words: list[tuple[str, str]]):
    path = tmp_path / "look.jay-action"
    path.write_text(HEAD + "".join(space + word for space, word in words))
    assert problem_with(path) <= len(words) + 3


def problem_with(path: Path) -> int:
    """The line that has one; 0 if none has."""
    try:
        read_action(path)
    except FileError as problem:
        return problem.line
    return 0
