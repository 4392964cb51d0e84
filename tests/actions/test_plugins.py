"""Manifests of plugins: what they list, and that nothing outside of their folder is read."""

from pathlib import Path
from typing import Any

import pytest
from tests.actions.lab import EXAMPLE, HEAD, acting, put, samples, write

from pollux.core.errors import ValidationError
from pollux.tools.actions import (
    ActionRegistry,
    FileError,
    Plugin,
    PluginAction,
    add_plugin,
    read_plugin,
    resolve_action_metadata_path,
)
from pollux.tools.actions.index import index_of
from pollux.tools.actions.plugins import described_actions


def manifest(folder: Path, text: str) -> Plugin:
    write(folder, plugin__yaml=text)
    return read_plugin(folder)


def test_actions_are_names_with_or_without_a_file():
    plugin = read_plugin(EXAMPLE)
    assert (plugin.name, plugin.python) == ("demo-shop", "shop_actions")
    assert plugin.actions == (
        PluginAction("searchProducts", "./actions/search-products.jay-action", 4),
        PluginAction("addToCart", "./actions/add-to-cart.jay-action", 6),
        PluginAction("restock", None, 8),
    )


def test_an_action_may_be_a_mapping_with_a_name_alone(tmp_path: Path):
    plugin = manifest(tmp_path, "name: shop\nactions:\n  - name: a\n  - b\n")
    assert plugin.actions == (PluginAction("a", None, 3), PluginAction("b", None, 4))
    assert manifest(tmp_path, "name: shop\n").actions == manifest(tmp_path, "name: shop\nactions:\n").actions == ()


def test_jay_s_own_manifest_is_read(tmp_path: Path):
    write(tmp_path, plugin__yaml=(samples() / "gemini-agent.plugin.yaml").read_text())
    plugin = read_plugin(tmp_path)
    assert [(entry.name, entry.action) for entry in plugin.actions] == [
        ("sendMessage", "send-message.jay-action"),
        ("submitToolResults", "submit-tool-results.jay-action"),
        ("getToolDescriptions", None),
    ]
    assert [contract.contract for contract in plugin.contracts] == ["gemini-chat.jay-contract"]


def test_an_entry_leads_to_the_file_that_describes_it(tmp_path: Path):
    here = put(tmp_path, HEAD, "actions/look.jay-action")
    built = put(tmp_path, HEAD, "lib/other.jay-action")
    assert resolve_action_metadata_path(tmp_path, "look") is None
    assert resolve_action_metadata_path(tmp_path, {"name": "look"}) is None
    assert resolve_action_metadata_path(tmp_path, {"name": "x", "action": "./actions/look.jay-action"}) == here
    assert resolve_action_metadata_path(str(tmp_path), PluginAction("x", "other.jay-action")) == built


@pytest.mark.parametrize(
    "name",
    [
        "../secret.jay-action",
        "./../secret.jay-action",
        "actions/../../secret.jay-action",
        "/etc/secret.jay-action",
        "..\\secret.jay-action",
        "link.jay-action",
        "folder/secret.jay-action",
        "loop.jay-action",
        "none.jay-action",
        "plugin.yaml",
        ".jay-action",
        "a\0b.jay-action",
    ],
)
def test_nothing_outside_of_the_folder_is_read(tmp_path: Path, name: str):
    secret = put(tmp_path, HEAD, "secret.jay-action")
    plugin = tmp_path / "plugin"
    write(plugin, plugin__yaml="name: shop\n")
    (plugin / "link.jay-action").symlink_to(secret)
    (plugin / "folder").symlink_to(tmp_path)
    (plugin / "loop.jay-action").symlink_to("loop.jay-action")
    with pytest.raises(FileError, match=r"plugin\.yaml:7: expected"):
        resolve_action_metadata_path(plugin, PluginAction("x", name, 7))


def test_a_link_within_the_folder_is_followed(tmp_path: Path):
    put(tmp_path, HEAD, "real.jay-action")
    (tmp_path / "link.jay-action").symlink_to("real.jay-action")
    assert resolve_action_metadata_path(tmp_path, {"action": "link.jay-action"}) == tmp_path / "link.jay-action"


def test_an_entry_that_is_no_name_is_refused(tmp_path: Path):
    entry: Any = {"action": 3}
    with pytest.raises(ValidationError, match="found int"):
        resolve_action_metadata_path(tmp_path, entry)


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("actions: []\n", 1, "expected `name: …`"),
        ("name: 7\n", 1, "expected text as `name`"),
        ("name: a\nactions: {a: b}\n", 2, "expected a list as `actions`"),
        ("name: a\nactions:\n  - 7\n", 3, "{name, action}"),
        ("name: a\nactions:\n  - [a]\n", 3, "{name, action}"),
        ("name: a\nactions:\n  - action: x.jay-action\n", 3, "expected the name of an action"),
        ("name: a\nactions:\n  - 'a b'\n", 3, "expected the name of an action"),
        ("name: a\nactions:\n  - a\n  - name: a\n", 4, "first in line 3"),
        ("name: a\nactions:\n  - name: a\n    action: [x]\n", 4, "expected text as `action`"),
        ("name: a\ncontracts:\n  - card\n", 3, "{name, contract}"),
        ("name: a\ncontracts:\n  - name: card\n", 3, "no contract"),
        ("name: a\ncontracts:\n  - {name: card, contract: /etc/passwd}\n", 3, ".jay-contract"),
        ("name: a\npython: ../shop.py\n", 2, "package.module"),
        ("name: a\n\tactions: []\n", 2, "expected YAML"),
    ],
)
def test_a_broken_manifest_is_told_with_its_line(tmp_path: Path, text: str, line: int, said: str):
    with pytest.raises(FileError) as problem:
        manifest(tmp_path, text)
    assert str(problem.value).startswith(f"{tmp_path / 'plugin.yaml'}:{line}: ") and said in str(problem.value)


def test_a_folder_without_a_manifest_is_no_plugin(tmp_path: Path):
    with pytest.raises(FileError, match="No such file"):
        read_plugin(tmp_path)


def test_a_plugin_s_handlers_are_registered_and_described_by_name_or_its_last_part(tmp_path: Path):
    put(tmp_path, HEAD, "look.jay-action")
    plugin = manifest(
        tmp_path,
        """
        name: shop
        actions:
          - {name: look, action: look.jay-action}
          - {name: gone, action: look.jay-action}
          - plain
        """,
    )
    registry = ActionRegistry()
    add_plugin(registry, plugin, [acting("shop.look", lambda: 1), acting("plain", lambda: 1)])
    assert registry.get_names() == ["shop.look", "plain"]
    assert [described.name for described in registry.get_actions_with_metadata()] == ["shop.look"]


def test_the_index_lists_plugins_by_name_and_what_is_described(tmp_path: Path):
    write(
        tmp_path,
        b___plugin__yaml="name: zebra\nactions: [{name: look, action: look.jay-action}, plain]\n",
        a___plugin__yaml="name: ape\ncontracts: [{name: card, contract: card.jay-contract}]\n",
    )
    put(tmp_path, "name: look\ndescription: 'Look: there, größer'\n", "b/lib/look.jay-action")
    put(tmp_path, "name: card\ntags: []\n", "a/card.jay-contract")
    plugins = [read_plugin(tmp_path / name) for name in ("b", "a")]
    assert [file.metadata.name for _, file in described_actions(plugins[0])] == ["look"]
    written = index_of(plugins, root=tmp_path)
    assert written == index_of(plugins[::-1], root=tmp_path)
    assert written == (
        "plugins:\n"
        "- name: ape\n"
        "  path: ./a\n"
        "  contracts:\n"
        "  - name: card\n"
        "    type: static\n"
        "    path: ./a/card.jay-contract\n"
        "- name: zebra\n"
        "  path: ./b\n"
        "  contracts: []\n"
        "  actions:\n"
        "  - name: look\n"
        "    description: 'Look: there, größer'\n"
        "    path: ./b/lib/look.jay-action\n"
    )
