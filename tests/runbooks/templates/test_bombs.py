"""A template that asks for all the time or memory there is gets little of either, and the runbook goes on."""

import resource
import subprocess
import sys
import time
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.runbooks.documents.parts import ID, uuid

from pollux.core.errors import ValidationError
from pollux.runbooks.documents import new_block, new_runbook
from pollux.runbooks.scene import Scene, Variable
from pollux.runbooks.templates import OUTPUT_LIMIT, render

SCENE = Scene(
    runbook=new_runbook(id=ID, name="A", content=[new_block("script", {"name": "a", "code": "x"}, id=uuid(1))]),
    directory="/",
).with_variable("big", Variable("x" * 200_000))

BOMBS = {
    "a long loop": "{% for i in range(10 ** 9) %}x{% endfor %}",
    "loops in loops": "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
    "a long text": "{{ 'x' * 10 ** 10 }}",
    "a text that doubles": "{% set a = 'x' * 1000000 %}" + "{% set a = a ~ a %}" * 20 + "{{ a }}",
    "a capture that doubles": "{% set a %}xxxxxxxx{% endset %}" + "{% set a %}{{ a }}{{ a }}{% endset %}" * 30,
    "a macro that calls itself": "{% macro m() %}{{ m() }}{{ m() }}{% endmacro %}{{ m() }}",
    "a product of texts": "{{ ('a' * 100000) | replace('a', 'b' * 100000) }}",
    "joins of joins": "{% set a = [var.big] * 300 %}{{ [a | join, a | join] | join((a | join)) }}",
    "a deep indent": "{{ 'a' | indent(10 ** 9) }}",
    "a wide format": "{{ '%1000000000d' | format(1) }}",
    "a long list": "{{ range(90000) | list * 90000 }}",
    "much sorting": "{% for i in range(90000) %}{% set x = range(90000) | list | sort %}{% endfor %}",
    "many brackets": "{{ " + "[" * 100000,
    "many parentheses": "{{ " + "(" * 1000 + "1" + ")" * 1000 + " }}",
    "many conditions": "{% if 1 %}" * 5000,
    "more text than fits": "{{ 'a' * " + str(OUTPUT_LIMIT + 1) + " }}",
    "the same text many times": "{{ var.big }}" * 60,
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_in_under_a_second(name: str) -> None:
    before, children = time.process_time(), resource.getrusage(resource.RUSAGE_CHILDREN)
    with pytest.raises(ValidationError, match=r"^the template cannot be rendered: "):
        render(BOMBS[name], SCENE)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    # Of the processor: what the clock says depends on who else is working here.
    spent = time.process_time() - before + after.ru_utime + after.ru_stime - children.ru_utime - children.ru_stime
    assert spent < 1


@pytest.mark.slow
def test_no_bomb_takes_more_than_its_share_of_memory() -> None:
    # In a process of its own: what other tests have started counts among the children of this one.
    measured = subprocess.run(
        [sys.executable, "-m", "tests.runbooks.templates.test_bombs"], capture_output=True, text=True, check=True
    )
    assert int(measured.stdout) < 400 * 1024


def test_a_loop_over_ten_thousand_rows_is_none() -> None:
    rows = [{"id": n} for n in range(10_000)]
    scene = SCENE.with_output(uuid(1), {"rows": rows})
    text = render("{% for row in doc.named.a.output.rows %}{{ row.id }} {% endfor %}", scene).text
    assert text == "".join(f"{n} " for n in range(10_000))


PIECES = [
    "{{",
    "}}",
    "{%",
    "%}",
    "{#",
    "#}",
    "var",
    ".big",
    "doc",
    "['a']",
    "|",
    "upper",
    "join",
    "for x in",
    "if",
    "endif",
]


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.sampled_from([*PIECES, " ", "range(9)", "*", "9", "'x'", "set a =", "endfor", "\n", "(", ")"]), max_size=15
    )
)
def test_any_heap_of_signs_is_text_or_refused(pieces: list[str]) -> None:
    try:
        assert isinstance(render("".join(pieces), SCENE).text, str)
    except ValidationError as refused:
        assert str(refused)  # noqa: PT017


if __name__ == "__main__":
    for each in BOMBS.values():
        with suppress(ValidationError):
            render(each, SCENE)
    print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
