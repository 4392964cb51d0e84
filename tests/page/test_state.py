"""The page's state: small, whole, in a steady order, and without what is private."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pollux.core.errors import ValidationError
from pollux.page.interactions import summary
from pollux.page.state import LARGEST, read_more, shown


def seen(state: Any) -> Any:
    return json.loads(shown(state))


def test_what_is_small_is_shown_as_it_is():
    empty: list[Any] = [{}, []]
    state = {"viewState": {"title": "Mugs", "count": 3, "price": 1.5, "open": True, "none": None, "empty": empty}}
    assert seen(state) == state


def test_arrays_are_cut_after_a_few_items_with_a_word_how_to_read_on():
    state = {"viewState": {"products": list(range(50))}}
    more = "… (45 more items: read-page-state path=/viewState/products start=5)"
    assert seen(state) == {"viewState": {"products": [0, 1, 2, 3, 4, more]}}
    assert json.loads(read_more(state, "/viewState/products", start=5)) == list(range(5, 50))


def test_texts_are_cut_after_two_hundred_characters():
    state = {"about": "x" * 200 + "y" * 100}
    assert seen(state)["about"] == "x" * 200 + "… (100 more characters: read-page-state path=/about start=200)"
    assert json.loads(read_more(state, "/about", start=200)) == "y" * 100
    assert seen({"about": "x" * 200}) == {"about": "x" * 200}


def test_deep_and_wide_values_are_cut_too():
    deep: Any = {"end": 1}
    for _ in range(20):
        deep = {"in": deep}
    assert "read-page-state path=/in/in/in/in/in/in/in/in" in shown(deep)
    wide = seen({f"m{number:03}": number for number in range(100)})
    assert len(wide) == 61 and wide["…"] == "… (40 more members: read-page-state path=/ start=60)"


def test_every_note_leads_to_what_was_cut():
    state = {"a/b": {"c~d": [{"text": "z" * 300}] * 9}}
    (note,) = {word for word in shown(state).split('"') if word.endswith("/0/text start=200)")}
    path = note.partition("path=")[2].partition(" ")[0]
    assert path == "/a~1b/c~0d/0/text" and json.loads(read_more(state, path, start=200)) == "z" * 100


def test_a_path_that_leads_nowhere_says_what_is_there():
    state = {"viewState": {"products": [1], "title": "Mugs"}}
    for path, said in (
        ("/viewState/prices", "there is no 'prices' at /viewState: it has the members products, title"),
        ("/viewState/products/1", "there is no '1' at /viewState/products: it has 1 items"),
        ("/viewState/title/0", "there is no '0' at /viewState/title: it has nothing inside"),
    ):
        with pytest.raises(ValidationError) as problem:
            read_more(state, path)
        assert str(problem.value) == said
    assert json.loads(read_more(state, "/")) == json.loads(read_more(state, "")) == state


def test_the_order_of_members_is_always_the_same():
    assert shown({"b": 1, "a": {"d": 1, "c": 2}}) == shown({"a": {"c": 2, "d": 1}, "b": 1})


@pytest.mark.parametrize(
    "state",
    [
        {f"member {number}": "x" * 150 for number in range(2_000)},
        [[["y" * 190] * 9] * 9] * 9,
        {"a": [{f"k{number}": list(range(100)) for number in range(70)}] * 5},
        {"k" * 79: {"l" * 79: ["€" * 200] * 400}},
        {"x" * 5_000: 1},
        "z" * 1_000_000,
        {f"\u200b{number}": "\u2028" * 190 for number in range(100)},
    ],
)
def test_whatever_the_page_sends_it_takes_no_more_than_its_share(state: Any):
    assert len(shown(state).encode()) <= LARGEST
    assert len(read_more(state, "/").encode()) <= LARGEST
    json.loads(shown(state))


def test_secrets_are_masked_by_their_names():
    state = {
        "login": {
            "password": "hunter2",
            "passwordError": "too short",
            "showPassword": False,
            "newPassword2": "hunter3",
        },
        "pay": {"cardNumber": "4111111111111111", "cvc": 123, "ccExp": "12/30", "cardholder": "Ada"},
        "oneTimeCode": "123456",
        "password": "",
    }
    text = shown(state)
    assert not any(secret in text for secret in ("hunter", "4111", "123", "12/30"))
    assert seen(state)["login"]["passwordError"] == "too short" and seen(state)["pay"]["cardholder"] == "Ada"
    assert "hunter2" not in read_more(state, "/login") and json.loads(read_more(state, "/password")) == ""


@pytest.mark.parametrize(
    "field",
    [
        {"type": "password", "value": "hunter2"},
        {"autocomplete": "section-a billing cc-number", "value": "hunter2"},
        {"inputType": "Password", "currentValue": "hunter2"},
        {"private": True, "text": "hunter2"},
        {"password": {"value": "hunter2"}},
        {"passwords": 1, "confirm_password": ["hunter2"]},
        {"name": "password", "value": "hunter2"},
        {"label": "One-time code", "currentValue": "hunter2"},
        {"refName": "cardNumber", "value": "hunter2"},
        {"data-agent-private": "", "value": "hunter2"},
        {"attributes": {"type": "password"}, "value": "hunter2"},
        {"passwordField": "hunter2"},
        {"pin": "hunter2"},
    ],
)
def test_secrets_are_masked_by_the_kind_of_their_field(field: dict[str, Any]):
    assert "hunter2" not in shown({"fields": [field]}) and "[private]" in shown({"fields": [field]})


def test_what_the_page_masked_stays_masked():
    state = {"password": "[private]", "word": "••••"}
    assert seen(state) == state


def test_the_chat_does_not_see_itself():
    state = {
        "viewState": {
            "geminiChat": {"messages": ["hello"]},
            "helper": {"isExpanded": True, "lastUserMessage": "hello", "lastAssistantMessage": ""},
            "title": "Mugs",
        },
        "interactions": [
            {"refName": "sendMessage", "items": [{"coordinate": ["sendMessage"], "events": ["click"]}]},
            {"refName": "close", "items": [{"coordinate": ["gemini-chat", "close"], "events": ["click"]}]},
            {"refName": "buy", "items": [{"coordinate": ["buy"], "events": ["click"]}]},
        ],
    }
    assert seen(state) == {"viewState": {"title": "Mugs"}}
    assert summary(state) == '{"events": ["click"], "ref": "buy"}'
    assert "sendMessage" not in read_more(state, "/interactions")


def test_interactions_are_summed_up_in_a_line_each():
    items = [{"coordinate": [f"p{number}", "add"], "events": ["click", "input"]} for number in range(7)]
    state = {"interactions": [{"refName": "add", "description": "Add it", "items": items}, {"refName": "buy"}]}
    first, second = map(json.loads, summary(state).split("\n"))
    note = "… (2 more items: read-page-state path=/interactions/0/items start=5)"
    assert first == {
        "ref": "add",
        "description": "Add it",
        "events": ["click", "input"],
        "coordinates": [[f"p{number}", "add"] for number in range(5)] + [note],
    }
    assert second == {"ref": "buy"}
    assert json.loads(read_more(state, "/interactions/0/items", start=5))[0]["coordinate"] == ["p5", "add"]


def test_of_many_interactions_the_rest_are_counted():
    state = {"interactions": [{"refName": f"r{number}", "description": "x" * 150} for number in range(300)]}
    *lines, last = summary(state).split("\n")
    assert len(summary(state).encode()) < 8_200 and json.loads(last) == (
        f"… ({300 - len(lines)} more interactions: read-page-state path=/interactions start={len(lines)})"
    )


JSONS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=40,
)


@pytest.mark.slow
@settings(deadline=None)
@given(JSONS, st.text(), st.integers(-5, 5))
def test_junk_of_every_kind_is_shown_in_bounds(state: Any, path: str, start: int):
    text = shown(state)
    json.loads(text)
    assert len(text.encode()) <= LARGEST
    assert all(sign.isprintable() for line in text.split("\n") for sign in line)
    try:
        assert len(read_more(state, path, start=start).encode()) <= LARGEST
    except ValidationError as problem:
        assert "there is no" in str(problem)  # noqa: PT017
    interactions = summary({"interactions": state})
    assert all(sign.isprintable() for line in interactions.split("\n") for sign in line)


def test_a_value_that_nests_without_end_is_shown_too():
    deep: Any = []
    for _ in range(700):
        deep = [deep]
    assert json.loads(shown(deep))
