"""A pause waits for a person, whatever else is trusted."""

import pytest
from tests.runbooks.blocks.at_work import block, prepared, preview, scene

from pollux.core.ids import GrantId, Instant, UserId
from pollux.core.policy import Facts, Grant, PolicyRequest, Rule, decide
from pollux.engine.gate import Toolbox
from pollux.runbooks.blocks.pause import PAUSE_ASKS, Pause

PAUSE = Pause()
TRUST = Rule("allow", tool="runbook_*", tier="admin", priority=1000)


def decided(*, interactive: bool = True):
    call = PAUSE.call(block("pause"), scene())
    tool = Toolbox(PAUSE.tools)[call.tool]
    facts = Facts(user=UserId("u"), interface="runbook", profile="runbook", interactive=interactive)
    request = PolicyRequest(tool.spec, prepared(PAUSE, call), facts)
    grant = Grant(GrantId("g"), UserId("u"), "runbook_pause", "*", "always", Instant(0))
    return decide(request, (TRUST, PAUSE_ASKS), (grant,))


def test_a_pause_asks_also_where_the_document_is_trusted():
    assert decided().mode == "require_approval"


def test_a_pause_where_nobody_can_be_asked_stops_the_run():
    assert decided(interactive=False).mode == "deny"


def test_a_pause_shows_its_text():
    assert (
        preview(PAUSE, PAUSE.call(block("pause", message="Is {{ var.x }} up?"), scene(variables={"x": "it"})))
        == "Is it up?"
    )
    assert preview(PAUSE, PAUSE.call(block("pause", name=""), scene())) == "The runbook pauses here. Go on?"


@pytest.mark.parametrize(
    ("condition", "pauses"),
    [
        ("true", True),
        ("YES", True),
        (" 1 ", True),
        ("-0.5", True),
        ("0", False),
        ("no", False),
        ("", False),
        ("maybe", False),
    ],
)
def test_a_pause_with_a_condition_asks_only_if_it_is_met(condition: str, pauses: bool):
    made = block("pause", pauseIfTruthy=True, condition="{{ var.c }}")
    assert PAUSE.call(made, scene(variables={"c": condition})).tool == ("runbook_pause" if pauses else "runbook_show")


def test_without_the_switch_a_condition_does_not_count():
    assert PAUSE.call(block("pause", condition="false"), scene()).tool == "runbook_pause"
