"""Where the demo lives: a folder that goes with it, ports that are free, and settings of its own."""

import shutil
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, TypeVar

from pollux.cli.demo_shop import shop_settings
from pollux.config import ConfigError, Settings, read_settings
from pollux.config.sources import ConfigFile
from pollux.core.redact import Secret

T = TypeVar("T")
RUNBOOKS: Final = Path(__file__).parent / "runbooks"
INSTRUCTIONS: Final = "You are a helpful assistant. Use the tools where they fit."
MAIL_BY_GOOGLE: Final = ("gmail_send", "calendar_event_create")
MAIL_BY_FILE: Final = ("demo_mail",)


def has_google() -> bool:
    """Whether Google's tools can be used here: they need packages that not everybody installs."""
    return all(_is_there(name) for name in ("google.auth", "email_validator", "cryptography"))


def _is_there(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ImportError:
        return False


class Ports:
    """Where each part listens: at the port that is written everywhere, or at any where somebody has that one."""

    def __init__(self, stack: AsyncExitStack, *, are_any: bool) -> None:
        self._stack = stack
        self._are_any = are_any
        self.moved = False
        """Whether one was taken."""

    async def enter(self, part: Callable[[int], AbstractAsyncContextManager[T]], port: int) -> T:
        """A part that listens, until the stack is closed."""
        if not self._are_any:
            # Tried, and not looked at before: another demo may begin at the same moment, or a part of this one have it.
            try:
                return await self._stack.enter_async_context(part(port))
            except (OSError, ConfigError):
                self.moved = True
        return await self._stack.enter_async_context(part(0))


def demo_settings(place: Path, *, model: str, workspace: str | None, port: int = 0) -> Settings:
    """The demo's settings, with nothing in them of whoever starts it: a model, a mailbox, the shop and a runbook."""
    runbooks = place / "runbooks"
    if not runbooks.exists():
        shutil.copytree(RUNBOOKS, runbooks, ignore=shutil.ignore_patterns("__pycache__"))
    home = place / "home"
    plain = read_settings({"HOME": str(place)}, cwd=place)
    settings = shop_settings(plain, home, port=port)
    assert settings.config_file is not None
    table = {**settings.config_file.table, "tools": _own_tools(), "runbooks": _served(runbooks)}
    mail = MAIL_BY_GOOGLE if workspace else MAIL_BY_FILE
    default = {"instructions": INSTRUCTIONS, "tools": [*table["tools"], *mail]}
    table["profiles"] = {**settings.config_file.table["profiles"], "default": default}
    return replace(
        settings,
        gemini_api_key=Secret("demo"),
        gemini_base_url=model,
        google_client_id="demo" if workspace else None,
        google_client_secret=Secret("demo") if workspace else None,
        gmail_base_url=workspace,
        calendar_base_url=workspace,
        google_oauth_base_url=workspace,
        config_file=ConfigFile(home / "demo.toml", b"", table),
    )


def _own_tools() -> dict[str, dict[str, str]]:
    return {name: {"use": f"pollux.cli.demo.tools:{name}"} for name in ("add", "today")}


def _served(folder: Path) -> dict[str, Any]:
    return {"folder": str(folder), "users": ["local"], "editable": True}
