"""Agents that others wrote, from npm."""

import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest

INSTALL_SECONDS: Final = 300


def installed(package: str, version: str) -> Path:
    """The folder that holds it, filled once in the virtual environment. Skips where that cannot be, and says why."""
    place = Path(sys.prefix) / "interop" / f"{package.removeprefix('@').replace('/', '-')}-{version}"
    if place.exists():
        return place
    npm = shutil.which("npm") or pytest.skip("npm is not installed (apt-get install npm)")
    place.parent.mkdir(parents=True, exist_ok=True)
    # Made whole under another name: an installation that was broken off, or is still at it, is not taken for one.
    with TemporaryDirectory(dir=place.parent) as kept:
        draft = Path(kept) / "draft"
        command = [npm, "install", "--no-fund", "--no-audit", "--ignore-scripts", "--prefix", draft]
        words = [*command, f"{package}@{version}"]
        made = subprocess.run(words, capture_output=True, timeout=INSTALL_SECONDS, check=False)
        if made.returncode:
            pytest.skip(f"npm could not install {package} ({made.returncode})")
        # Another may have been first.
        with suppress(OSError):
            draft.rename(place)
    return place
