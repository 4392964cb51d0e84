"""What was always allowed: listed, and taken back."""

from tests.cli.store_bench import Place, place, send

from pollux import Approve
from pollux.sdk.events import ApprovalRequired
from pollux.testing import call, reply

__all__ = ["place"]

MAIL = call("send", {"to": "bob@example.com"})


def always(question: ApprovalRequired) -> Approve:
    return Approve(always=True)


async def always_allow_bob(place: Place) -> None:
    async with place.agent(MAIL, reply("Sent."), tools=[send], on_approval=always) as agent:
        await agent.send("Mail Bob")


async def test_a_grant_is_listed_with_tool_and_recipient(place: Place):
    await always_allow_bob(place)
    done = place.pollux("grants", "list")
    assert (done.returncode, done.stderr) == (0, "")
    assert "send, always" in done.stdout and "to bob@example.com" in done.stdout


async def test_a_grant_is_listed_for_programs(place: Place):
    await always_allow_bob(place)
    (item,) = place.data("grants", "list", "--json")["items"]
    assert (item["tool"], item["subject"], item["scope"]) == ("send", "bob@example.com", "always")
    assert item["approvalId"].startswith("apr_") and item["grantedAt"] > 0


async def test_a_grant_that_was_taken_back_allows_nothing(place: Place):
    await always_allow_bob(place)
    (item,) = place.data("grants", "list", "--json")["items"]
    done = place.pollux("grants", "revoke", item["id"])
    assert (done.returncode, done.stdout) == (0, "")
    assert "send asks again" in done.stderr
    assert place.data("grants", "list", "--json") == {"items": []}
    async with place.agent(MAIL, reply("I may not."), tools=[send]) as agent:
        result = await agent.send("Mail Bob")
    assert result.tool_calls[0].error is not None


def test_a_grant_that_is_not_there_cannot_be_taken_back(place: Place):
    done = place.pollux("grants", "revoke", "gnt_nobody")
    assert (done.returncode, done.stdout) == (1, "")
    assert "there is no grant 'gnt_nobody'. `pollux grants list`" in done.stderr


def test_without_grants_there_is_nothing_on_standard_output(place: Place):
    done = place.pollux("grants", "list")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "pollux: nothing is always allowed\n")


async def test_a_recipient_cannot_give_orders_to_the_terminal(place: Place):
    args = {"to": "\x1b]0;owned\x07\u202ebob"}
    steps = (call("send", args), reply("Sent."))
    async with place.agent(*steps, tools=[send], on_approval=always) as agent:
        await agent.send("Mail")
    done = place.pollux("grants", "list")
    assert "\x1b" not in done.stdout and "\u202e" not in done.stdout
    assert r"to \x1b]0;owned\x07\u202ebob" in done.stdout
    (item,) = place.data("grants", "list", "--json")["items"]
    assert item["subject"] == args["to"]


def test_a_store_that_is_not_there_is_not_made_by_looking(place: Place):
    done = place.pollux("grants", "list", "--store", "nowhere.db")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--store must name a store that exists, found 'nowhere.db'" in done.stderr
    assert not (place.cwd / "nowhere.db").exists()
