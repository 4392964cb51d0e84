"""The demo's shop: a site on this machine whose pages have an agent on them, behind the same server that is shipped."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pollux.config import Settings
from pollux.config.sources import ConfigFile

if TYPE_CHECKING:
    from pollux.engine.engine import Engine

PROMPTS: Final = (
    "show me tea pots under 30",
    "add two blue mugs to the cart",
    "what is in my cart?",
    "fill in my address and stop before paying",
    "place the order",
)
VISITOR: Final = "Ada Lovelace, 12 St James's Square, London SW1Y 4JH"
INSTRUCTIONS: Final = (
    "You help the visitors of The Tea Cupboard, a small shop. Do what is asked with the page's own controls where it"
    " has some, and with the server's actions where it has none. Never press Pay, and never fill in a card: that is the"
    " visitor's to do.\n"
    f"The visitor's name and address: {VISITOR}"
)


def shop_settings(settings: Settings, home: Path, *, port: int = 0) -> Settings:
    """Settings for the shop's server: on loopback, with its own store, and nothing of whoever starts it but the key."""
    import pollux.shop

    table: dict[str, Any] = {
        "page": {"plugins": [str(Path(pollux.shop.__file__).parent / "plugin")]},
        "profiles": {"page": {"instructions": INSTRUCTIONS}},
        # Only a list so far. What costs money asks.
        "rules": [{"tool": "action_addToCart", "profile": "page", "decision": "allow", "reason": "a cart is no order"}],
    }
    return replace(
        settings,
        home=home,
        store=home / "pollux.db",
        host="127.0.0.1",
        port=port,
        allowed_hosts=(),
        public_url=None,
        tokens=(),
        oidc_issuer=None,
        oidc_audience=None,
        google_client_id=None,
        google_client_secret=None,
        system_prompt=None,
        model=None,
        config_file=ConfigFile(home / "shop.toml", b"", table),
        project_file=None,
    )


def is_built() -> bool:
    """Whether there is a script that puts the agent on the pages."""
    from pollux.asgi.static import FOLDER

    return (FOLDER / "pollux.js").exists()


@asynccontextmanager
async def serving_shop(
    settings: Settings, *, assets: Path | None = None, grace: float | None = None
) -> AsyncGenerator[tuple[str, "Engine"]]:
    """The shop at its address, until the block ends. Its books lie in the settings' home.

    What is under way then has as long as with any server, or `grace` seconds.
    """
    from pollux.asgi.credentials import credentials_of
    from pollux.asgi.listening import listening
    from pollux.asgi.static import FOLDER
    from pollux.serve import Site, running_app
    from pollux.service import GRACE_SECONDS
    from pollux.shop import place, site

    place.keep_at(settings.home / "shop.db")
    shop = Site(site.PATHS, site.Shop)
    async with (
        running_app(settings, credentials_of(settings), site=shop, assets=assets or FOLDER) as (app, engine),
        listening(app, settings) as server,
    ):
        try:
            yield server.url + site.HOME, engine
        finally:
            # Runs first: their streams then have a last line to tell.
            await engine.close(GRACE_SECONDS if grace is None else grace)
