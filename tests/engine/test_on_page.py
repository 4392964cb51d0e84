"""Which calls of a page's tools are asked about."""

import time
from typing import Any

import pytest

from pollux.core.tools import ToolSpec
from pollux.engine.on_page import OnPage, reference_of

PRIVATE = frozenset({"e7", "login/f3"})


def asks(name: str, args: dict[str, Any], **properties: Any) -> bool:
    schema = {"type": "object", "properties": properties}
    spec = ToolSpec(name, "", schema, side_effect=True, default_approval="not_required", where="page")
    return OnPage(spec, PRIVATE).asking(args).default_approval == "required"


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("fill-password", {"value": "x"}),
        ("fill-newPassword", {"value": "x"}),
        ("fill-card-number", {"value": "4111"}),
        ("fill-input", {"coordinate": "password", "value": "x"}),
        ("fill-input", {"coordinate": ["login", "password"], "value": "x"}),
        ("fill-input", {"coordinate": "login/f3", "value": "x"}),
        ("fill", {"ref": "e7", "text": "x"}),
        ("trigger-interaction", {"refName": "oneTimeCode", "event": "input"}),
        ("sign_in", {"user": "ada", "password": "x"}),
        ("click-login", {"password": "x"}),
        ("click-login", {"user": "ada", "form": {"oneTimeCode": 123456}}),
        ("read-mail", {"access_token": "x"}),
        ("click-password", {"how": "x"}),
        ("click", {"ref": "e7", "with": "hunter2"}),
        ("enter-iban", {"value": "x"}),
        ("go", {"fields": {"e7": "hunter2"}}),
        ("go", {"fields": [["e7", "hunter2"]]}),
        ("fill", {"ref": "E7 ", "text": "x"}),
        ("fill", {"ref": '["login","f3"]', "text": "x"}),
        ("fill", {"ref": "login > f3", "text": "x"}),
        ("go", {"p\N{CYRILLIC SMALL LETTER A}ssword": "x"}),
        ("go", {"p\N{ZERO WIDTH SPACE}assword": "x"}),
        ("go", {"\N{FULLWIDTH LATIN SMALL LETTER P}assword": "x"}),
    ],
)
def test_a_call_that_fills_in_a_private_field_asks(name: str, args: dict[str, Any]):
    assert asks(name, args)


def test_a_long_reference_is_read_once():
    began = time.thread_time()
    assert reference_of(" " * 1_000_000) == ""
    assert reference_of("a, " * 300_000).count("/") == 300_000
    assert time.thread_time() - began < 1


@pytest.mark.parametrize(
    "about",
    [
        {"type": "string", "format": "password"},
        {"type": "string", "writeOnly": True},
        {"type": "string", "title": "Password"},
        {"description": "The visitor's card number"},
    ],
    ids=str,
)
@pytest.mark.parametrize("name", ["click-login", "go"])
def test_what_the_page_says_of_an_argument_makes_it_private_too(name: str, about: dict[str, Any]):
    assert asks(name, {"p1": "x"}, p1=about)
    assert asks(name, {"all": [{"p1": "x"}]}, all={"items": {"properties": {"p1": about}}})
    assert not asks(name, {"p2": "x"}, p1=about)


@pytest.mark.parametrize("about", [{"format": "text"}, {"private": False}, {"writeOnly": False}, True], ids=str)
def test_nothing_that_the_page_says_of_an_argument_makes_it_less_private(about: Any):
    assert asks("click-login", {"password": "x"}, password=about)


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("fill-search", {"value": "password"}),
        ("fill", {"ref": "e8", "text": "e7"}),
        ("click", {"ref": "e7"}),
        ("click-forgot-password", {}),
        ("scroll", {"ref": "e7"}),
        ("scroll", {"ref": "e7", "by": 3}),
        ("click", {"ref": "e7", "double": True}),
        ("click-remember-password", {"password": True}),
        ("add_to_cart", {"product": "mug"}),
    ],
)
def test_any_other_call_is_the_pages_own_business(name: str, args: dict[str, Any]):
    assert not asks(name, args)
