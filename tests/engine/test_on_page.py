"""Which calls of a page's tools are asked about."""

from typing import Any

import pytest

from pollux.core.tools import ToolSpec
from pollux.engine.on_page import OnPage

PRIVATE = frozenset({"e7", "login/f3"})


def asks(name: str, args: dict[str, Any]) -> bool:
    spec = ToolSpec(name, "", {"type": "object"}, side_effect=True, default_approval="not_required", where="page")
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
    ],
)
def test_a_call_that_fills_in_a_private_field_asks(name: str, args: dict[str, Any]):
    assert asks(name, args)


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("fill-search", {"value": "password"}),
        ("fill", {"ref": "e8", "text": "e7"}),
        ("click", {"ref": "e7"}),
        ("click-forgot-password", {}),
        ("scroll", {"ref": "e7"}),
        ("add_to_cart", {"product": "mug"}),
    ],
)
def test_any_other_call_is_the_pages_own_business(name: str, args: dict[str, Any]):
    assert not asks(name, args)
