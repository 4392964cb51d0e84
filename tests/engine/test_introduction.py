"""What the model reads first, where its profile has a persona: who it is, and the policy on its tools."""

from typing import Any

import pytest
from tests.engine.builders import ADA, ANYTHING, BOB, FakeTool, Lab, answer

from pollux.core.policy import Rule
from pollux.core.profile import Profile
from pollux.engine import introduction
from pollux.engine.introduction import PERSONA
from pollux.providers.scripted import reply

TOOLS = (
    FakeTool("look"),
    FakeTool("send_mail", side_effect=True, schema=ANYTHING),
    FakeTool("pay", side_effect=True),
)
NO_RIVALS = Rule("deny", tool="send_mail", subjects=("*@rival.example",))


async def system(lab: Lab, profile: Profile, *rules: Rule, **asked: Any) -> str:
    """What the model was told first."""
    engine = await lab.engine(reply("Hello."), tools=TOOLS, profile=profile, rules=rules)
    await answer(engine, **asked)
    return lab.model.requests[-1].system


NAMES = tuple(tool.spec.name for tool in TOOLS)


async def test_a_persona_says_what_needs_approval_and_what_is_denied(lab: Lab):
    told = await system(lab, Profile(tools=NAMES, persona=True), NO_RIVALS)
    assert told.startswith(PERSONA)
    assert "each call of send_mail, pay before it runs" in told
    assert "depending on their arguments: send_mail." in told and "look" not in told


async def test_a_persona_gives_way_to_the_profiles_own_instructions(lab: Lab):
    told = await system(lab, Profile(tools=NAMES, persona=True, instructions="Be brief."))
    assert told.startswith("Be brief.\n\nA person approves or rejects") and PERSONA not in told


async def test_where_nobody_can_be_asked_such_tools_are_named_as_denied(lab: Lab):
    told = await system(lab, Profile(tools=NAMES, persona=True), interactive=False)
    assert "Denied by policy: send_mail, pay." in told and "approves" not in told


async def test_nothing_is_added_where_the_persona_is_off_or_the_run_has_its_own_instructions(lab: Lab):
    assert await system(lab, Profile(tools=NAMES)) == ""
    assert await system(lab, Profile(tools=NAMES, persona=True), instructions="Only this.") == "Only this."
    assert await system(lab, Profile(persona=True)) == PERSONA


async def test_introductions_of_many_users_are_made_again_instead_of_kept(lab: Lab, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(introduction, "MOST", 1)
    engine = await lab.engine(*[reply("Hello.")] * 3, profile=Profile(persona=True))
    for user in (ADA, BOB, ADA):
        await answer(engine, user=user)
        assert lab.model.requests[-1].system == PERSONA
