"""Google's tools as a pair: to whom they are offered, and what they weigh."""

import subprocess
import sys

import pytest
from tests.tools.google.asking import ADA, CONNECTED, Accounts, Http, Standing, Tokens

from pollux.core.errors import AuthError
from pollux.core.ids import UserId
from pollux.core.tools import Personal
from pollux.engine.gate import Toolbox
from pollux.tools.google.api import GoogleApi
from pollux.tools.google.scopes import CALENDAR, GMAIL
from pollux.tools.google.toolset import CALENDAR_BASE, GMAIL_BASE, google_tools

EVE = UserId("eve")


def tools(accounts: Accounts = CONNECTED):
    http = Http()
    gmail, calendar = (GoogleApi(http, Tokens("t"), base) for base in (GMAIL_BASE, CALENDAR_BASE))
    return google_tools(gmail, calendar, accounts=accounts)


async def test_both_are_offered_to_those_who_have_connected_an_account():
    assert [tool.spec.name for tool in tools()] == ["gmail_send", "calendar_event_create"]
    for tool in tools():
        assert isinstance(tool, Personal)
        assert [await tool.is_offered(user) for user in (ADA, EVE)] == [True, False]
        assert (tool.spec.default_approval, tool.spec.side_effect) == ("required", True)


async def test_who_has_no_account_is_told_where_to_connect_one():
    for tool in tools():
        await tool.admit(ADA)
        with pytest.raises(AuthError, match="no Google account is connected") as caught:
            await tool.admit(EVE)
        assert caught.value.connect_url


async def test_an_account_without_a_tools_scopes_is_told_which_are_missing():
    gmail, calendar = tools(Accounts(ada=Standing(True, CALENDAR)))
    await calendar.admit(ADA)
    with pytest.raises(AuthError, match=r"does not grant gmail\.compose, gmail\.metadata, gmail\.send") as caught:
        await gmail.admit(ADA)
    assert caught.value.connect_url == "/connect?3"


@pytest.mark.parametrize("scope", sorted(GMAIL))
async def test_a_mail_is_not_begun_without_every_scope_that_finding_out_about_it_takes(scope: str):
    gmail, _ = tools(Accounts(ada=Standing(True, GMAIL - {scope})))
    with pytest.raises(AuthError, match=scope.rpartition("/")[2]):
        await gmail.admit(ADA)


async def test_a_connection_that_cannot_be_used_says_why():
    gmail, _ = tools(Accounts(ada=Standing(problem="the key is another one. Connect again")))
    with pytest.raises(AuthError, match="the key is another one"):
        await gmail.admit(ADA)


def test_their_schemas_are_ones_that_a_toolbox_takes():
    prepared = Toolbox(tools()).prepare("gmail_send", {"to": "Bob@Example.com", "subject": "Hi", "body": "there"})
    assert prepared["to"] == ["bob@example.com"]


def test_what_weighs_much_is_imported_only_when_it_is_needed():
    heavy = ("google.auth", "email_validator", "cryptography", "aiohttp", "zoneinfo")
    script = f"import sys, pollux.tools.google.toolset; print([name for name in {heavy!r} if name in sys.modules])"
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"
