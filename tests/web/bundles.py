"""The browser side bundled for tests, out of its sources and into a folder of its own."""

import atexit
import functools
import os
import subprocess
import tempfile
from pathlib import Path

import pytest

WEB = Path(__file__).parents[2] / "web"
ESBUILD = WEB / "node_modules/.bin/esbuild"
NAMES = ("protocol", "automation", "client", "widget")
ENTRIES = {
    "automation": "automation/src/global.ts",
    "seeing": "automation/test/seeing.ts",
    "client": "client/src/index.ts",
    "chat": "widget/test/scripted.ts",
}

needs_web = pytest.mark.skipif(not ESBUILD.exists(), reason="the browser side is not installed (make web)")


@functools.cache
def bundle(name: str, *, form: str = "iife") -> Path:
    """The script of this name, made once in a run."""
    out = _folder() / f"{name}.{form}.js"
    options = [
        "--bundle", "--minify", f"--format={form}", "--target=es2022", "--jsx=automatic", "--jsx-import-source=preact",
        "--loader:.css=text", "--log-level=warning", f"--outfile={out}",
        *(f"--alias:@pollux/{package}={WEB}/packages/{package}/src/index.ts" for package in NAMES),
    ]  # fmt: skip
    subprocess.run([ESBUILD, WEB / "packages" / ENTRIES[name], *options], cwd=WEB, check=True, timeout=60)
    return out


@functools.cache
def built() -> Path:
    """The folder with all that a server gives to pages, as it is shipped."""
    folder = _folder() / "static"
    subprocess.run(
        ["node", WEB / "build.mjs"],
        env={**os.environ, "POLLUX_STATIC": str(folder)}, stdout=subprocess.DEVNULL, check=True, timeout=120,
    )  # fmt: skip
    return folder


@functools.cache
def _folder() -> Path:
    folder = tempfile.TemporaryDirectory(prefix="pollux-web-")
    atexit.register(folder.cleanup)
    return Path(folder.name)
