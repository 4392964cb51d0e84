"""What a configuration file says about a site's pages: its actions, its plugins, and the profiles of its visitors."""

import asyncio
import logging
import shutil
import sys
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from importlib import invalidate_caches
from pathlib import Path

import pytest
from tests.actions.lab import ADA, EXAMPLE
from tests.waiting import HANG_SECONDS

from pollux.config import ConfigError, LeftOut, Project, accept_project, load_project, read_settings
from pollux.core.errors import ValidationError
from pollux.core.profile import DEFAULT_MODEL, Limits
from pollux.core.redact import MASK, Secret
from pollux.core.run import Run
from pollux.emulator.server import run_emulator
from pollux.engine.start import Start
from pollux.service import Service, registry_of, running_service

CART = """
from pollux.tools.actions import action, query

@action("cart.clear")
def clear() -> bool:
    return True

@query("tell")
def tell() -> str:
    return "the key is s3cret-s3cret"
"""
SHOP = '[page]\nplugins = ["shop"]\n'
SECRET = Secret("s3cret-s3cret")
WIDENING = """
[actions."cart.clear"]
use = "acme_cart:clear"

[page]
plugins = ["shop"]
profiles = ["page"]
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with the example's plugin and a module of handlers, which Python finds."""
    folder = tmp_path / "work"
    shutil.copytree(EXAMPLE, folder / "shop", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules/acme_cart.py").write_text(CART)
    monkeypatch.syspath_prepend(EXAMPLE)  # pyright: ignore[reportUnknownMemberType]
    monkeypatch.syspath_prepend(tmp_path / "modules")  # pyright: ignore[reportUnknownMemberType]
    invalidate_caches()
    yield folder
    for name in ("shop_actions", "acme_cart"):
        sys.modules.pop(name, None)


def load(place: Path, text: str | None = None) -> Project:
    """The rights of a file that is named by hand, or else those of the workspace's."""
    home = str(place.parent / "home")
    flags: dict[str, object] = {}
    if text is not None:
        (place / "own.toml").write_text(text)
        flags = {"config": str(place / "own.toml")}
    return load_project(read_settings({"HOME": home, "POLLUX_HOME": home}, cwd=place, flags=flags))


@asynccontextmanager
async def serving(place: Path, text: str, model_url: str = "") -> AsyncGenerator[Service]:
    (place / "own.toml").write_text(text)
    environ = {"HOME": str(place.parent), "POLLUX_HOME": str(place.parent / "home")}
    if model_url:
        environ |= {"GEMINI_API_KEY": "any", "GOOGLE_GEMINI_BASE_URL": model_url}
    # Elsewhere than the file: its paths begin at the file.
    settings = read_settings(environ, cwd=place.parent, flags={"config": str(place / "own.toml")})
    async with running_service(settings, (SECRET,)) as service:
        yield service


def plain_plugin(place: Path, *, python: str = "", names: tuple[str, ...]) -> None:
    """A plugin whose actions are described and take nothing."""
    lines = ["name: plain", *([f"python: {python}"] if python else []), "actions:"]
    (place / "plain").mkdir()
    for name in names:
        lines.append(f"  - {{name: {name}, action: {name}.jay-action}}")
        (place / f"plain/{name}.jay-action").write_text(f"name: {name}\ndescription: It does {name}.\n")
    (place / "plain/plugin.yaml").write_text("\n".join(lines))


async def test_a_server_s_profiles_have_the_configured_limits_of_an_answer(place: Path):
    async with run_emulator(port=0) as emulator, serving(place, "[models]\ntries = 1\n", emulator.url) as service:
        for profile in ("default", "page"):
            start = Start("hi", user=ADA.user, profile=profile, model="gemini-3.8-flash--503")
            run = await service.engine.wait_settled((await service.engine.start(start)).id, seconds=HANG_SECONDS)
            assert (run.limits.tries, run.status) == (1, "failed")
        assert sum(each.method == "POST" for each in emulator.requests) == 2


# What the file says


def test_a_named_file_says_what_a_site_can_do_and_what_its_visitors_may_name(place: Path):
    rights = load(place, WIDENING).rights
    assert rights.actions == {"cart.clear": {"use": "acme_cart:clear"}}
    assert rights.page_plugins == (place / "shop",)
    assert rights.page_profiles == {"page": f"profiles of [page] in {place / 'own.toml'}"}


def test_without_a_word_there_is_nothing(place: Path):
    rights = load(place, "").rights
    assert not (rights.actions or rights.page_plugins or rights.page_profiles)


def test_one_plugin_may_be_written_without_a_list_and_one_written_twice_is_one(place: Path):
    assert load(place, "[page]\nplugins = 'shop'\n").rights.page_plugins == (place / "shop",)
    assert load(place, "[page]\nplugins = ['shop', './shop', '/opt/shop']\n").rights.page_plugins == (
        place / "shop",
        Path("/opt/shop"),
    )


def test_a_found_file_brings_no_actions_plugins_or_profiles_and_says_so(place: Path):
    (place / "pollux.toml").write_text(WIDENING)
    project = load(place)
    assert not (project.rights.actions or project.rights.page_plugins or project.rights.page_profiles)
    reason = "only an accepted or explicitly named file may widen rights"
    parts = ["actions.cart.clear", f"page plugin {place / 'shop'}", "page profile page"]
    assert project.left_out == tuple(LeftOut(part, reason) for part in parts)


def test_an_accepted_file_brings_them_beside_those_of_the_persons_own(place: Path):
    (place / "pollux.toml").write_text(WIDENING)
    accept_project(place / "pollux.toml", place.parent / "home")
    assert load(place).left_out == ()
    own = "[actions.'cart.clear']\nuse = 'mine:clear'\n[page]\nplugins = 'other'\nprofiles = 'default'\n"
    project = load(place, own)
    assert project.rights.actions == {"cart.clear": {"use": "mine:clear"}}
    assert project.rights.page_plugins == (place / "other", place / "shop")
    assert set(project.rights.page_profiles) == {"default", "page"}
    assert project.left_out == (LeftOut("actions.cart.clear", "your own configuration file defines it"),)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("actions = 1", "[actions] in {path} must be a table, found a number"),
        ("[actions]\nx = 1", "'x' of [actions] in {path} must be a table, found a number"),
        ("[actions.x]\nuze = 'a:b'", "[actions.x] in {path} holds 'uze', which means nothing there. Known: use"),
        ("[actions.x]", '[actions.x] in {path} must say where the action is: use = "package.module:attribute"'),
        ("[actions.x]\nuse = 1", "[actions.x] in {path} must say where the action is"),
        ("[actions.cart.add]\nuse = 'a:b'", 'A name with a dot in it stands in quotes: [actions."cart.add"]'),
        ("page = 1", "[page] in {path} must be a table, found a number"),
        ("[page]\nplugin = 'x'", "[page] in {path} holds 'plugin', which means nothing there. Known: origins, plugins"),
        ("[page]\nplugins = 1", "plugins of [page] in {path} must be a list of texts, found a number"),
        ("[page]\nplugins = [1]", "plugins of [page] in {path} must hold texts only"),
        ("[page]\nplugins = ' '", "plugins of [page] in {path} must hold folders, such as plugins/shop; ' ' is none"),
        ('[page]\nplugins = "a\\u0000"', "plugins of [page] in {path} must hold folders"),
        ("[page]\nprofiles = {{}}", "profiles of [page] in {path} must be a list of texts, found a table"),
        ("[page]\nprofiles = 'a b'", "profiles of [page] in {path} must hold names of profiles; 'a b' can be none"),
    ],
)
def test_a_mistake_is_an_error_with_its_place(place: Path, text: str, said: str):
    with pytest.raises(ConfigError) as refused:
        load(place, text.replace("{{}}", "{}"))
    assert said.format(path=place / "own.toml") in str(refused.value)
    # As much in a file that may not widen anything.
    (place / "pollux.toml").write_text(text.replace("{{}}", "{}"))
    with pytest.raises(ConfigError):
        load(place, "")


# The site's actions


def test_a_plugins_actions_and_those_of_tables_are_registered_together(place: Path):
    registry = registry_of(load(place, WIDENING).rights)
    assert registry.get_names() == ["searchProducts", "cart.addToCart", "restock", "cart.clear"]
    assert [each.name for each in registry.get_actions_with_metadata()] == ["searchProducts", "cart.addToCart"]


def test_a_plugin_without_a_module_describes_what_a_table_brings(place: Path):
    plain_plugin(place, names=("clear",))
    registry = registry_of(load(place, WIDENING.replace('"shop"', '"plain"')).rights)
    [described] = registry.get_actions_with_metadata()
    assert (described.name, described.metadata.description) == ("cart.clear", "It does clear.")


def test_listed_actions_that_nobody_handles_are_told_in_the_log(place: Path, caplog: pytest.LogCaptureFixture):
    with (place / "shop/plugin.yaml").open("a") as manifest:
        manifest.write("  - refund\n")
    with caplog.at_level(logging.WARNING):
        assert "refund" not in registry_of(load(place, SHOP).rights).get_names()
    [line] = caplog.messages
    assert line == f"{place / 'shop/plugin.yaml'} lists actions without a handler in Python: refund"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[page]\nplugins = 'nowhere'", "nowhere/plugin.yaml:1: "),
        ("[actions.x]\nuse = 'acme_cart:clear'", "acme_cart:clear holds no action called 'x'; found: cart.clear"),
        ("[actions.x]\nuse = 'acme_cart'", 'use of [actions.x] must be "package.module:attribute"'),
        ("[actions.x]\nuse = 'acme_none:x'", "importing acme_none failed (ModuleNotFoundError)"),
        (SHOP + "[actions.restock]\nuse = 'shop_actions:restock'", "two actions are called 'restock'"),
    ],
)
def test_actions_that_cannot_be_had_are_an_error_before_anything_is_served(place: Path, text: str, said: str):
    rights = load(place, text).rights
    with pytest.raises(ConfigError) as refused:
        registry_of(rights)
    assert said in str(refused.value)
    assert "Traceback" not in str(refused.value)


def test_a_broken_description_is_an_error_with_file_and_line(place: Path):
    path = place / "shop/actions/add-to-cart.jay-action"
    path.write_text(path.read_text().replace("productId: string", "productId: strnig", 1))
    with pytest.raises(ConfigError, match=r"add-to-cart\.jay-action:6: .*strnig"):
        registry_of(load(place, SHOP).rights)


# The profiles of a running service


async def test_there_is_always_a_profile_for_pages(place: Path):
    async with serving(place, "") as service:
        page = service.engine.profiles["page"]
        assert (page.model, page.tools) == (DEFAULT_MODEL, ())
        assert page.limits == Limits(model_calls=8, approval_seconds=600, page_seconds=60)
        assert service.page_profiles == {"page"}
        assert (service.registry.get_names(), service.actions) == ([], {})


async def test_it_has_the_described_actions_and_the_default_profile_has_none_of_them(place: Path):
    async with serving(place, "model = 'gpt-x'\n" + SHOP) as service:
        profiles = service.engine.profiles
        assert (profiles["page"].model, profiles["page"].tools) == ("gpt-x", tuple(service.actions))
        assert set(service.actions) == {"action_cart_addToCart", "action_searchProducts"}
        assert {name: tool.action for name, tool in service.actions.items()}[
            "action_cart_addToCart"
        ] == "cart.addToCart"
        assert profiles["default"].tools == ("demo_mail",)
        assert profiles["default"].limits == Limits(model_calls=3)


async def test_a_profile_for_visitors_has_the_actions_unless_it_names_its_tools(place: Path):
    text = """
    [page]
    plugins = "shop"
    profiles = ["shop", "looks"]

    [profiles.shop]
    instructions = "You sell."

    [profiles.looks]
    tools = ["action_searchProducts"]
    limits = { model_calls = 2 }

    [profiles.back]
    """
    async with serving(place, text) as service:
        profiles = service.engine.profiles
        assert set(profiles["shop"].tools) == set(service.actions)
        assert profiles["shop"].limits == Limits(model_calls=8, approval_seconds=600)
        assert profiles["looks"].tools == ("action_searchProducts",)
        assert profiles["looks"].limits == Limits(model_calls=2, approval_seconds=600)
        assert (profiles["back"].tools, profiles["back"].limits) == ((), Limits(model_calls=3))
        assert service.page_profiles == {"page", "shop", "looks"}


@pytest.mark.parametrize("written", ["", "[profiles.default]\ninstructions = 'Be brief.'\n"])
async def test_a_default_profile_for_visitors_has_its_own_tools_and_the_actions(place: Path, written: str):
    async with serving(place, SHOP + "profiles = 'default'\n" + written) as service:
        default = service.engine.profiles["default"]
        assert default.tools == ("demo_mail", *service.actions)
        assert default.instructions == ("Be brief." if written else "")
        assert default.limits == Limits(model_calls=3)


async def test_the_configuration_may_have_a_profile_page_of_its_own(place: Path):
    text = SHOP + "[profiles.page]\ninstructions = 'Be kind.'\ntools = []\n[limits]\nmodel_calls = 5\n"
    async with serving(place, text) as service:
        page = service.engine.profiles["page"]
        assert (page.instructions, page.tools) == ("Be kind.", ())
        assert page.limits.model_calls == 5


async def test_the_default_profile_may_name_an_action(place: Path):
    async with serving(place, SHOP + "[profiles.default]\ntools = ['action_searchProducts']\n") as service:
        assert service.engine.profiles["default"].tools == ("action_searchProducts",)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "[page]\nprofiles = 'shop'",
            "profiles of [page] in {path} names 'shop', but there is no such profile. Known: d",
        ),
        ("[profiles.default]\ntools = ['action_x']", "names 'action_x', but there is no such tool"),
        (SHOP + "[tools.action_searchProducts]\nuse = 'a:b'", "[tools.action_searchProducts] takes the name of a tool"),
    ],
)
async def test_names_that_lead_nowhere_or_are_taken_are_refused_at_the_start(place: Path, text: str, said: str):
    with pytest.raises(ValidationError) as refused:
        async with serving(place, text):
            pass
    assert refused.value.code == "config"
    assert said.format(path=place / "own.toml") in str(refused.value)


async def test_a_model_calls_what_looks_and_asks_before_what_acts(place: Path):
    plain_plugin(place, python="acme_cart", names=("tell", "clear"))
    async with run_emulator() as model, serving(place, "[page]\nplugins = 'plain'\n", model.url) as service:
        looked = await story(service, "call action_tell {}")
        assert looked.status == "completed"
        [told] = looked.actions
        # Code of others: what it says to a model holds no secret that is known here.
        assert (told.outcome and told.outcome.result) == f"the key is {MASK}"
        acted = await story(service, "call action_cart_clear {}")
        assert acted.status == "awaiting_confirmation"
        assert await service.registry.execute("tell", {}, ADA) == "the key is s3cret-s3cret"


async def story(service: Service, prompt: str) -> Run:
    run = await service.engine.start(Start(prompt, user=ADA.user, profile="page", door="page"))
    async with asyncio.timeout(HANG_SECONDS):
        return await service.engine.wait_settled(run.id)
