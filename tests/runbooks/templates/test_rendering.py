"""Templates see what Atuin's see. What they put in is data, and where it came from is noted."""

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.runbooks.documents.parts import ID, uuid

from pollux.core.errors import ValidationError
from pollux.core.messages import JSON
from pollux.runbooks.documents import Runbook, new_block, new_runbook
from pollux.runbooks.scene import Scene, Variable
from pollux.runbooks.templates import render
from pollux.runbooks.templates.simple import is_simple

OURS: JSON = {"type": "internal", "model": None}
FETCH, EMPTY, NOTES, LAST = (uuid(n) for n in range(1, 5))


def runbook() -> Runbook:
    return new_runbook(
        id=ID,
        name="A",
        content=[
            new_block("script", {"name": "fetch", "code": "curl", "terminalRows": 10}, id=FETCH),
            {"id": EMPTY, "type": "paragraph", "props": {}, "content": []},
            new_block("editor", {"name": "My notes", "code": "written {{ var.host }}"}, id=NOTES),
            new_block("script", {"name": "last", "code": "echo"}, id=LAST),
        ],
    )


def scene(**output: JSON) -> Scene:
    made = Scene(runbook=runbook(), directory="/tmp", workspace="/work")
    made = made.with_output(FETCH, {"exit_code": 0, "stdout": "it's {{ var.host }}", **output})
    made = made.with_variable("host", Variable("db.example"))
    return made.with_variable("made", Variable("from fetch", frozenset({FETCH})))


def rendered(template: str, **output: JSON) -> str:
    return render(template, scene(**output), block=runbook().blocks[3]).text


def sources(template: str, **output: JSON) -> frozenset[str]:
    return render(template, scene(**output)).sources


def refusal(template: str) -> str:
    with pytest.raises(ValidationError) as caught:
        rendered(template)
    return str(caught.value)


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("no tags at all {# and a comment #}", "no tags at all {# and a comment #}"),
        ("{{ var.host }}", "db.example"),
        ("{{ doc.named['fetch'].output.exit_code }}", "0"),
        ("{{ doc.named['My notes'].content }}", "written {{ var.host }}"),
        ("{{ doc.first.block_type }} {{ doc.last.name }} {{ doc.content[2].props.name }}", "script last My notes"),
        ("{{ doc.first.id }}", FETCH),
        ("{{ doc.previous.name }}", "My notes"),
        ("{{ doc.first.props.terminalRows }}", "10"),
        ("{{ workspace.root }}/x", "/work/x"),
        ("{{ doc.first.output.stdout | shellquote }}", "'it'\\''s {{ var.host }}'"),
        ("{% if var.host == 'db.example' %}\nyes\n{% else %}\nno\n{% endif %}\n", "yes\n"),
        ("{{ var.nobody | default('x') }}", "x"),
        ("{% for word in ['a', 'b'] %}{{ word }}{{ loop.index }} {% endfor %}", "a1 b2 "),
        ("{{ var.host ~ '!' }}", "db.example!"),
        ("{% raw %}{{ var.host }}{% endraw %}", "{{ var.host }}"),
    ],
)
def test_a_template_is_filled_in(template: str, text: str) -> None:
    assert rendered(template) == text


def test_values_are_printed_as_atuin_prints_them() -> None:
    template = "{{ doc.first.output.%s }}"
    told = {"yes": True, "no": False, "none": None, "rows": [{"a": 1}, "b"], "half": 0.5}
    printed = [rendered(template % key, **told) for key in told]
    assert printed == ["true", "false", "none", '[{"a": 1}, "b"]', "0.5"]


def test_an_outputs_keys_are_found_in_both_spellings() -> None:
    template = (
        "{{ doc.first.output.durationSeconds }} {{ doc.first.output.duration_seconds }} {{ doc.first.output.exitCode }}"
    )
    assert rendered(template, durationSeconds=3) == rendered(template, duration_seconds=3) == "3 3 0"


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("[{{ doc.first.output.inputTokens }}] [{{ doc.first.output.error }}]", "[] []"),
        ("{{ doc.named['ask'].output.input_tokens | default('some') }}", "some"),
        ("{% if doc.first.output.error %}failed{% else %}fine{% endif %}", "fine"),
        ("{{ doc.first.output.error is none }} {{ doc.first.output.text is none }}", "true false"),
        ("{{ doc.first.output.error ~ '!' }} {{ doc.first.output.text }}", "! words"),
        ("{{ doc.first.output }}", '{"text": "words", "error": null, "inputTokens": null}'),
    ],
)
def test_what_an_agent_did_not_give_has_no_words(template: str, text: str) -> None:
    asked = new_runbook(id=ID, name="A", content=[new_block("agent", {"name": "ask", "source": OURS}, id=FETCH)])
    made = Scene(runbook=asked, directory="/tmp")
    made = made.with_output(FETCH, {"text": "words", "error": None, "inputTokens": None})
    assert render(template, made).text == text


def test_what_was_put_in_is_never_rendered_again() -> None:
    assert rendered("{{ doc.first.output.stdout }}") == "it's {{ var.host }}"
    assert rendered("{% for x in [1] %}{{ doc.first.output.stdout }}{% endfor %}") == "it's {{ var.host }}"


def test_the_block_before_the_first_is_none() -> None:
    with pytest.raises(ValidationError, match=r"doc\.previous"):
        render("{{ doc.previous.name }}", scene(), block=runbook().blocks[0])


def test_the_block_before_is_the_one_that_stands_there_whatever_it_is() -> None:
    assert render("{{ doc.previous.block_type }}", scene(), block=runbook().blocks[2]).text == "paragraph"


# Where it came from


@pytest.mark.parametrize(
    ("template", "is_from_fetch"),
    [
        ("nothing", False),
        ("{{ var.host }}", False),
        ("{{ doc.first.props.code }} {{ doc.named.fetch.name }}", False),
        ("{{ doc.named.fetch.output.stdout }}", True),
        ("{{ doc.content[0].output.exit_code }}", True),
        ("{{ var.made }}", True),
        ("{{ var['made'] | upper }}", True),
        ("{% if doc.first.output.exit_code %}x{% endif %}", True),
        ("{{ var }}", True),
        ("{{ doc }}", True),
        ("{{ doc.first | tojson }}", True),
        ("{% for block in doc.content %}{{ block.output | default('') }}{% endfor %}", True),
        ("{% for block in doc.content %}{{ block.name }}{% endfor %}", False),
        ("{% set b = doc.first %}{{ b.output.stdout[:1] }}", True),
    ],
)
def test_the_blocks_whose_outputs_a_text_was_made_from_are_noted(template: str, is_from_fetch: bool) -> None:
    assert sources(template) == (frozenset({FETCH}) if is_from_fetch else frozenset())


def test_the_environments_sources_are_noted_too() -> None:
    told = scene().with_env("TOKEN", "x", frozenset({FETCH})).with_env("PLAIN", "y")
    assert render("{{ env.TOKEN }}", told).sources == {FETCH}
    assert render("{{ env.PLAIN }}", told).sources == frozenset()


# What is refused


@pytest.mark.parametrize(
    ("template", "words"),
    [
        ("{{ var.nobody }}", "`var.nobody` is undefined. var has 'host', 'made'"),
        ("\n\n{{ var.nobody }}", "line 3: "),
        ("{{ nobody }}", "There are doc, env, var and workspace"),
        ("{{ doc.named.nobody.output }}", "doc.named has 'fetch', 'My notes', 'last'"),
        ("{{ doc.previous.output.stdout }}", "doc.previous has not run"),
        ("{{ doc.first.output.nothing }}", "output has 'exit_code', 'stdout'"),
        ("{{ var.nobody | shellquote }}", "shellquote"),
        ("{{ var.items }}", "undefined"),
        ("{{ var.host.upper() }}", "no method"),
        ("{{ var.pop('host') }}", "no methods"),
        ("{{ doc.named.clear() }}", "no methods"),
        ("{{ doc.first.output.update({}) }}", "no methods"),
        ("{{ var._values }}", "undefined"),
        ("{{ var.__class__ }}", "undefined"),
        ("{{ debug() }}", "unknown"),
        ("{{ now() }}", "unknown"),
        ("{% include 'x' %}", "non-existing"),
        ("{% extends 'x' %}", "does not exist"),
        ("{{ var.host", "expected"),
        ("{{ var.host | nofilter }}", "nofilter"),
    ],
)
def test_a_wrong_template_is_refused_with_its_block_and_line(template: str, words: str) -> None:
    told = refusal(template)
    assert words in told
    assert "script block 'last'" in told and LAST in told and "line " in told


def test_a_template_changes_nothing() -> None:
    before = scene(rows=[{"a": 1}])
    for template in ("{{ doc.first.output.rows.append(1) }}", "{{ doc.first.props.pop('code') }}", "{{ var.clear() }}"):
        with pytest.raises(ValidationError):
            render(template, before)
    assert before == scene(rows=[{"a": 1}])


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40))
def test_a_quoted_value_is_one_word_of_the_shell(value: str) -> None:
    told = scene().with_variable("x", Variable(value))
    quoted = render("{{ var.x | shellquote }}", told).text
    assert quoted == "'" + value.replace("'", "'\\''") + "'"


@pytest.mark.parametrize("value", ["it's", "$(id)", "`id`", "a; b", "\\", "a\nb", "* ?", '"', "", "'''"])
def test_a_real_shell_reads_it_as_it_was(value: str) -> None:
    told = scene().with_variable("x", Variable(value))
    command = render("printf %s {{ var.x | shellquote }}", told).text
    assert subprocess.run(["sh", "-c", command], capture_output=True, check=True).stdout.decode() == value


@pytest.mark.parametrize(
    ("template", "is_one"),
    [
        (
            "{{ var.a }} {% if doc.first.output.ok and not var.b == 'x' %}a{% elif var.c is defined %}b{% endif %}",
            True,
        ),
        ("{{- doc.named['a b'].output.rows[0] | default('x') | shellquote -}}", True),
        ("{{ var.a * 3 }}", False),
        ("{{ var.a() }}", False),
        ("{{ var.a | replace('a', 'b') }}", False),
        ("{{ var.a | tojson | tojson | tojson }}", False),
        ("{% for x in var.a %}{% endfor %}", False),
        ("{% set a = 1 %}", False),
        ("{{ var.a }}" * 65, False),
        ("{{ var.a", False),
    ],
)
def test_only_templates_whose_work_is_bounded_are_simple(template: str, is_one: bool) -> None:
    assert is_simple(template) is is_one
