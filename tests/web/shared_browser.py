"""One Chromium for all tests of a worker, off the network. Each test opens a context in it and closes that.

A browser belongs to the event loop that it was started in, so whoever uses this one is marked `in_browser`. A
`conftest.py` that imports `chromium` offers it to its folder.
"""

import os
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from tempfile import TemporaryDirectory
from typing import Final

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, async_playwright, expect
from tests.http.browsing import CHROMIUM, FLAGS
from tests.waiting import HANG_SECONDS

PATIENT: Final = int(HANG_SECONDS * 1000)

# What is expected comes when it comes: only a hang ends the waiting.
expect.set_options(timeout=PATIENT)

in_browser = pytest.mark.asyncio(loop_scope="session")

_ALONE: Final = (
    "--no-proxy-server",
    "--disable-domain-reliability",
    "--disable-client-side-phishing-detection",
    # Of a context's processes most would be started for a page that never comes.
    "--renderer-process-limit=1",
)
_RESOLVED: Final = (
    "MAP evil.example 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE *.localhost, EXCLUDE 127.0.0.1"
)
# Given once more, `--disable-features` takes the place of Playwright's: these are its own and ours.
_WITHOUT: Final = (
    "AimEnabled", "AvoidUnnecessaryBeforeUnloadCheckSync", "BlockInsecurePrivateNetworkRequests",
    "DestroyProfileOnBrowserClose", "HttpsFirstBalancedModeAutoEnable", "HttpsUpgrades", "LensOverlay",
    "LocalNetworkAccessChecks", "MediaRouter", "NetworkTimeServiceQuerying", "OptimizationHints", "PaintHolding",
    "PreconnectToSearch", "SpareRendererForSitePerProcess", "ThirdPartyStoragePartitioning", "Translate",
    # The lists below the address bar, which nobody sees here: two pages more in every window, in a process of their own
    # that takes five times what a page of ours takes.
    "WebUIOmniboxAimPopup", "WebUIOmniboxPopup",
)  # fmt: skip


@asynccontextmanager
async def launched(*flags: str) -> AsyncGenerator[Browser]:
    """A Chromium with these flags too, closed at the end."""
    ours = [flag for flag in FLAGS if not flag.startswith(("--host-resolver-rules=", "--disable-features="))]
    ours += [*_ALONE, f"--host-resolver-rules={_RESOLVED}", f"--disable-features={','.join(_WITHOUT)}"]
    # A home of its own: with one that it cannot write to, every click takes seconds. And letters for it to name files
    # with: where there are none but ASCII and its folder has others, it keeps nothing of what pages store.
    with TemporaryDirectory(prefix="pollux-chromium-", ignore_cleanup_errors=True) as home:
        environ: dict[str, str | float | bool] = {**os.environ, "HOME": home, "LC_ALL": "C.UTF-8"}
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=[*ours, *flags], env=environ)
            try:
                yield browser
            finally:
                await browser.close()


@asynccontextmanager
async def opened(browser: Browser) -> AsyncGenerator[BrowserContext]:
    """A context for pages that belong together, closed at the end."""
    context = await browser.new_context()
    try:
        yield context
    finally:
        await context.close()


class _Shared:
    """Started by who comes first, closed by who leaves last: every folder has a fixture of its own."""

    def __init__(self) -> None:
        self._stack = AsyncExitStack()
        self._users = 0

    async def __aenter__(self) -> Browser:
        if not self._users:
            self._browser = await self._stack.enter_async_context(launched())
        self._users += 1
        return self._browser

    async def __aexit__(self, *problem: object) -> None:
        self._users -= 1
        if not self._users:
            await self._stack.aclose()


_shared = _Shared()


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def chromium() -> AsyncGenerator[Browser]:
    """The worker's browser."""
    async with _shared as browser:
        yield browser
