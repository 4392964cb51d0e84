"""Leave without asking: only where everybody whom a mail or event reaches is granted, for that user and tool."""

import random
from collections import Counter
from dataclasses import replace
from datetime import date

import pytest
from tests.tools.google.addresses import GOOD

from pollux.core.ids import GrantId, ThreadId, UserId
from pollux.core.policy import Facts, Grant, PolicyRequest, Rule, Scope, decide
from pollux.core.tools import ToolSpec
from pollux.tools.define import Args
from pollux.tools.google import event, mail
from pollux.tools.google.message import build

ASK = (Rule("require_approval"),)
USERS = [UserId("ada"), UserId("bob")]
HERE, ELSEWHERE = ThreadId("thr_1"), ThreadId("thr_2")
TOOLS = {
    mail.NAME: ToolSpec(mail.NAME, mail.DESCRIPTION, mail.SCHEMA, side_effect=True),
    event.NAME: ToolSpec(event.NAME, event.DESCRIPTION, event.SCHEMA, side_effect=True),
}
WRITTEN = [written for written, _ in GOOD]
# What somebody may have typed into a list of grants. None of it is a canonical address, and none grants anything.
LOOSE = ["BOB@EXAMPLE.COM", "*", "*@example.com", "bob@münchen.de", "example.com", "", "bob@*", "@"]
SCOPES: list[Scope] = ["always", "session"]


def facts(user: UserId) -> Facts:
    return Facts(user=user, interface="http", profile="default")


def call(tool: str, to: list[str], cc: list[str], bcc: list[str]) -> tuple[Args, frozenset[str], frozenset[str]]:
    """Prepared arguments, whom the tool says they reach, and whom the bytes that go out name."""
    if tool == mail.NAME:
        args = mail.prepare({"to": list(to), "cc": list(cc), "bcc": list(bcc), "subject": "s", "body": "b"})
        head = build(args, marks={}).split(b"\r\nSubject:")[0].decode()
        return args, mail.subjects(args), frozenset(word for word in head.replace(",", " ").split() if "@" in word)
    given: Args = {"title": "t", "start": "2027-01-01", "end": "2027-01-02", "attendees": [*to, *cc, *bcc]}
    args = event.prepare(given, today=date(2026, 12, 1))
    invited = event.resource(args, id="abcde").get("attendees", [])
    return args, event.subjects(args), frozenset(who["email"] for who in invited)


def grants(dice: random.Random, reached: frozenset[str], tool: str, user: UserId) -> list[Grant]:
    """A grant for nearly everybody who is reached, some of them for another user, tool or thread; and loose ones."""
    held: list[Grant] = []
    for subject in [*sorted(reached), *dice.sample(LOOSE, 2)]:
        owner = user if dice.random() < 0.95 else dice.choice(USERS)
        name = tool if dice.random() < 0.95 else dice.choice([*TOOLS, "demo_mail"])
        thread = HERE if dice.random() < 0.8 else ELSEWHERE
        if dice.random() < 0.95:
            held.append(Grant(GrantId("g"), owner, name, subject, dice.choice(SCOPES), 0.0, thread))
    return held


@pytest.mark.slow
@pytest.mark.parametrize(
    "cases",
    [range(2_000), *(pytest.param(range(at, at + 10_000), marks=pytest.mark.soak) for at in range(0, 100_000, 10_000))],
    ids=str,
)
def test_leave_means_that_everybody_reached_is_granted_for_that_user_and_tool(cases: range):
    modes = Counter[str]()
    for case in cases:
        # One seed for each: a case that fails can be looked at alone.
        dice = random.Random(case)
        user, tool = dice.choice(USERS), dice.choice(list(TOOLS))
        to, cc, bcc = (dice.choices(WRITTEN, k=dice.randrange(3)) for _ in range(3))
        args, spoken, reached = call(tool, to or ["bob@example.com"] * (tool == mail.NAME), cc, bcc)
        assert spoken == reached, case
        held = grants(dice, reached, tool, user)
        request = PolicyRequest(TOOLS[tool], args, replace(facts(user), thread_id=HERE), spoken)
        mode = decide(request, ASK, held).mode
        fitting = [grant for grant in held if (grant.user, grant.tool) == (user, tool)]
        granted = {grant.subject for grant in fitting if grant.scope == "always" or grant.thread_id == HERE}
        assert (mode == "allow") == (bool(reached) and reached <= granted), case
        modes[mode] += 1
    assert min(modes["allow"], modes["require_approval"]) >= len(cases) * 0.2


@pytest.mark.parametrize(("written", "canonical"), GOOD)
def test_a_grant_covers_every_way_to_write_its_address_and_no_other_address(written: str, canonical: str):
    grant = Grant(GrantId("g"), USERS[0], mail.NAME, canonical, "always", 0.0)
    for to, mode in (([written], "allow"), ([written, "eve@example.net"], "require_approval")):
        args, spoken, _ = call(mail.NAME, to, [], [])
        request = PolicyRequest(TOOLS[mail.NAME], args, facts(USERS[0]), spoken)
        assert decide(request, ASK, [grant]).mode == mode


def test_an_event_without_attendees_is_never_covered_by_grants():
    args, spoken, _ = call(event.NAME, [], [], [])
    grant = Grant(GrantId("g"), USERS[0], event.NAME, "", "always", 0.0)
    request = PolicyRequest(TOOLS[event.NAME], args, facts(USERS[0]), spoken)
    assert decide(request, ASK, [grant]).mode == "require_approval"
