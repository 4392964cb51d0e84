"""A name that no block gives is said before anything runs."""

import pytest
from tests.runbooks.lab import agent, block, document, script

from pollux.cli.runbook.check import TYPES
from pollux.runbooks.documents import read
from pollux.runbooks.outputs import missing_outputs


def missing(template: str) -> list[str]:
    source = document(script("look", "ls"), agent("ask", "Hi"), block("env", "x", value=template))
    return missing_outputs(read(source), TYPES)


@pytest.mark.parametrize(
    "path", ["doc.named['ask'].output.answer", 'doc.named["ask"].output["answer"]', "doc.named.ask.output.answer"]
)
def test_an_output_that_no_block_gives_is_named_with_those_that_there_are(path: str) -> None:
    [said] = missing(f"It says {{{{ {path} }}}} and {{% if {path} %}}more{{% endif %}}")
    assert (
        said.startswith("'ask' has no output 'answer', it has cut, durationSeconds, ") and "(env block 'x', id" in said
    )


@pytest.mark.parametrize(
    "template",
    [
        "{{ doc.named['ask'].output.text }} {{ doc.named['ask'].output.input_tokens }}",
        "{{ doc.named.look.output.exitCode }} {{ doc.named.look.output.stdout }}",
        "{{ doc.named['ask'].output.answer | default('none') }}{% if doc.named.ask.output.x is defined %}{% endif %}",
        "doc.named['ask'].output.answer",
        "{{ doc.named['nobody'].output.answer }}",
    ],
)
def test_what_is_there_or_has_a_default_is_not(template: str) -> None:
    assert missing(template) == []
