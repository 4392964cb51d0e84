"""Private fields on large pages: one that nobody got to see must not be filled in unasked."""

from pathlib import Path
from typing import Any

import pytest
from tests.page.site import page_site
from tests.page.test_trouble import SIGN_IN

from pollux.engine.on_page import EVERYTHING
from pollux.page.private import LARGEST_REFERENCES, MOST_MEMBERS, MOST_REFERENCES, private_references
from pollux.providers.scripted import ScriptedProvider, call


def fields(count: int, **more: Any) -> list[dict[str, Any]]:
    return [{"ref": f"e{number}", "private": True, **more} for number in range(count)]


@pytest.mark.parametrize("count", [1, 199, 300, MOST_REFERENCES])
def test_every_private_field_of_a_page_is_known(count: int):
    assert set(private_references({"private": fields(count)})) == {f"e{number}" for number in range(count)}


@pytest.mark.parametrize(
    "state",
    [
        {"private": fields(MOST_REFERENCES + 1)},
        [{"ref": "x" * (LARGEST_REFERENCES // 2), "private": True}, {"ref": "y" * LARGEST_REFERENCES, "private": True}],
        [{"private": fields(1)}, *[{"name": "product"}] * MOST_MEMBERS],
        [*[{}] * MOST_MEMBERS, *fields(1)],
    ],
    ids=["too many", "too long", "first on a large page", "last on a large page"],
)
def test_where_they_cannot_all_be_known_everything_is_private(state: Any):
    assert private_references(state) == (EVERYTHING,)


def test_a_page_that_shows_many_plain_values_is_looked_through_whole():
    assert private_references({"prices": list(range(100_000)), "login": fields(2)}) == ("e0", "e1")


@pytest.mark.parametrize(
    ("count", "ref", "asks"),
    [(300, "e299", True), (300, "e300", False), (MOST_REFERENCES + 1, "e2000", True), (3_000, "search", True)],
)
async def test_a_page_of_many_private_fields_has_none_filled_in_unasked(
    tmp_path: Path, count: int, ref: str, asks: bool
):
    model = ScriptedProvider(call("fill-input", {"coordinate": ref, "value": "hunter2"}))
    async with page_site(tmp_path, model) as site:
        page = await site.page()
        page.tools, page.state = [SIGN_IN], {"private": fields(count)}
        assert (await page.say("fill it in"))["type"] == ("approval-required" if asks else "tool-calls")


async def test_on_such_a_page_what_fills_in_nothing_asks_nobody(tmp_path: Path):
    async with page_site(tmp_path, ScriptedProvider(call("click-buy", {"coordinate": "mug"}))) as site:
        page = await site.page()
        page.state = {"private": fields(3_000)}
        assert (await page.say("buy"))["type"] == "tool-calls"
