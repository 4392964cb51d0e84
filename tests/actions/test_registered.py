"""Handlers by name: of a configuration, of installed packages, of a plugin's module; and never uninvited."""

import sys
from collections.abc import Iterator
from importlib import invalidate_caches
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from tests.actions.lab import EXAMPLE

from pollux.core.errors import ValidationError
from pollux.tools.actions import ActionRegistry, add_plugin, handlers_at, read_plugin, registered_handlers
from pollux.tools.actions.registered import GROUP

MODULE = """
from pollux.tools.actions import action, query

@action("cart.add")
def add(product: str) -> str:
    return product

@query
def look() -> int:
    return 1

both = [add, look]
again = look
nothing = 7
"""


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that Python searches."""
    monkeypatch.syspath_prepend(tmp_path)  # pyright: ignore[reportUnknownMemberType]
    (tmp_path / "acme_shop.py").write_text(MODULE)
    (tmp_path / "acme_broken.py").write_text("raise RuntimeError('secret')")
    invalidate_caches()
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if name.startswith(("acme_", "shop_actions")):
            del sys.modules[name]


def offering(**points: str) -> list[EntryPoint]:
    return [EntryPoint(name.replace("__", "."), value, GROUP) for name, value in points.items()]


@pytest.mark.usefixtures("packages")
def test_a_table_says_where_an_action_is():
    tables = {"cart.add": {"use": "acme_shop:add"}, "look": {"use": "acme_shop:both"}}
    assert [handler.name for handler in registered_handlers(tables, entry_points=offering)] == ["cart.add", "look"]


@pytest.mark.usefixtures("packages")
def test_an_entry_point_is_imported_only_if_its_name_is_wanted():
    def points() -> list[EntryPoint]:
        return offering(look="acme_shop:look", cart__add="acme_broken:add")

    assert [handler.name for handler in registered_handlers({}, wanted=["look", "x"], entry_points=points)] == ["look"]
    assert registered_handlers({}, entry_points=points) == []
    assert "acme_broken" not in sys.modules


@pytest.mark.usefixtures("packages")
def test_a_name_has_one_source():
    def points() -> list[EntryPoint]:
        return offering(look="acme_other:look")

    with pytest.raises(ValidationError, match="more than one source"):
        registered_handlers({"look": {"use": "acme_shop:look"}}, entry_points=points)


@pytest.mark.usefixtures("packages")
@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({}, "must say where the action is"),
        ({"use": "acme_shop"}, "package.module:attribute"),
        ({"use": 7}, "package.module:attribute"),
        ({"use": "acme_shop:look", "secret": 1}, "holds 'secret'"),
        ({"use": "acme_shop:add"}, "no action called 'look'; found: cart.add"),
        ({"use": "acme_shop:nothing"}, "found int. Use @action"),
        ({"use": "acme_shop:gone"}, "there is no 'gone'"),
        ({"use": "acme_gone:look"}, "importing acme_gone failed"),
        ({"use": "acme_broken:look"}, r"importing acme_broken failed \(RuntimeError\)"),
    ],
)
def test_a_mistake_in_a_table_is_told(table: dict[str, object], said: str):
    with pytest.raises(ValidationError, match=said) as problem:
        registered_handlers({"look": table}, entry_points=offering)
    assert problem.value.code == "config" and "secret'" not in str(problem.value).replace("'secret'", "")


@pytest.mark.usefixtures("packages")
def test_a_module_offers_all_that_it_has_each_once():
    assert [handler.name for handler in handlers_at("acme_shop")] == ["cart.add", "look"]
    assert [handler.name for handler in handlers_at("acme_shop:look")] == ["look"]


@pytest.mark.usefixtures("packages")
def test_a_plugin_brings_the_handlers_of_the_module_that_it_names(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(EXAMPLE)  # pyright: ignore[reportUnknownMemberType]
    registry = ActionRegistry()
    add_plugin(registry, read_plugin(EXAMPLE))
    assert registry.get_names() == ["searchProducts", "cart.addToCart", "restock"]
    assert [each.name for each in registry.get_actions_with_metadata()] == ["searchProducts", "cart.addToCart"]
