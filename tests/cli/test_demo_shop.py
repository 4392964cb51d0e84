"""The demo's shop, as a newcomer meets it: a link in the terminal, pages behind it, and an end with the rest."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import aiohttp
from tests.cli.demos import demo

from pollux.cli.demo_shop import VISITOR, serving_shop, shop_settings
from pollux.config import Settings, load_project, read_settings
from pollux.core.redact import Secret


def test_help_tells_of_every_part(tmp_path: Path):
    done = demo("", "--help", cwd=tmp_path)
    assert done.returncode == 0
    assert [word for word in ("console", "shop", "chat", "--tour") if word not in done.stdout] == []


def test_nothing_of_the_workspace_counts_in_the_shop(tmp_path: Path):
    (tmp_path / "pollux.toml").write_text('[[rules]]\ntool = "action_placeOrder"\ndecision = "allow"\n')
    rights = load_project(_settings(tmp_path, POLLUX_TOKENS="eve:0123456789abcdef0")).rights
    assert [(rule.tool, rule.decision) for rule in rights.rules] == [("action_addToCart", "allow")]
    assert VISITOR in str(rights.profiles["page"].table["instructions"])


def test_it_is_on_this_machine_alone_whatever_the_environment_says(tmp_path: Path):
    settings = _settings(tmp_path, POLLUX_HOST="0.0.0.0", POLLUX_PUBLIC_URL="https://shop.example")
    assert (settings.host, settings.port, settings.public_url, settings.tokens) == ("127.0.0.1", 0, None, ())


async def test_two_shops_keep_two_books(tmp_path: Path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        async with (
            serving_shop(_settings(tmp_path / name)) as (url, _),
            aiohttp.ClientSession() as http,
            http.post(url.replace("/shop/", "/_jay/actions/getCart"), json={}) as answer,
        ):
            assert answer.status == 200
        assert (tmp_path / name / "home/shop.db").exists()


def _settings(path: Path, **environ: str) -> Settings:
    given: Mapping[str, str] = {"HOME": str(path), **environ}
    plain = replace(read_settings(given, cwd=path), gemini_api_key=Secret("demo"))
    return shop_settings(plain, path / "home")
