"""A root full of traps, and beside it what must never be seen or touched."""

import gc
import os
import socket
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from pollux.tools.files.reach import has_openat2
from pollux.tools.files.root import Root

Way = Literal["openat2", "walk"]

NEEDS_OPENAT2 = pytest.mark.skipif(not has_openat2(), reason="the kernel has no openat2")
WAYS = [pytest.param("openat2", marks=NEEDS_OPENAT2), pytest.param("walk")]
SECRET = "canary-7f1d-outside"
KEY = "canary-93aa-key"


@dataclass(frozen=True)
class World:
    """Where things are. `secret.txt` in `outside` and in `evil` holds SECRET; the keys inside the root hold KEY."""

    root: Path
    outside: Path
    evil: Path
    home: Path

    def open(self, way: Way) -> Root:
        return Root(self.root, protected=[self.home], way=way)

    def beyond(self) -> dict[str, tuple[int, bytes]]:
        """Everything outside the root: paths, modes and bytes."""
        places = [place for top in (self.outside, self.evil) for place in (top, *sorted(top.rglob("*")))]
        return {str(place): (place.lstat().st_mode, place.read_bytes() if place.is_file() else b"") for place in places}

    def guarded(self) -> dict[str, bytes]:
        """What is beneath the root and must not change either."""
        names = ("pollux.toml", "config/.gemini.yaml", ".git/config", ".git/hooks/pre-commit", ".env", "src/.env")
        paths = [*(self.root / name for name in names), self.home / "seal.key"]
        return {str(path): path.read_bytes() for path in paths}


def build(base: Path) -> World:
    """Make the world anew."""
    world = World(base / "root", base / "outside", base / "root-evil", base / "root" / "state" / "pollux")
    for folder in (world.outside / "folder", world.evil, world.home, world.root / "src" / "deep" / "er"):
        folder.mkdir(parents=True)
    for folder in ("config", ".git/hooks", "empty"):
        (world.root / folder).mkdir(parents=True)
    for place in (world.outside, world.outside / "folder", world.evil):
        (place / "secret.txt").write_text(SECRET)
        (place / "secret.txt").chmod(0o600)
    (world.outside / ".env").write_text(SECRET)
    for name in ("pollux.toml", "config/.gemini.yaml", ".git/config", ".git/hooks/pre-commit"):
        (world.root / name).write_text("inside")
    for place in (world.root / ".env", world.root / "src" / ".env", world.home / "seal.key"):
        place.write_text(KEY)
    for name in ("notes.txt", "src/main.py", "src/deep/er/leaf.txt", "secret.txt"):
        (world.root / name).write_text("inside\n")
    _lay_links(world)
    _lay_odd_things(world)
    return world


LINKS = {
    "out": "../outside",
    "out_file": "../outside/secret.txt",
    "src/out": "../../outside",
    "src/deep/out": "../../../outside",
    "chain1": "chain2",
    "chain2": "src/chain3",
    "src/chain3": "../out",
    "up": "..",
    "up_up": "../..",
    "here": ".",
    "winding": "src/../src/../../outside",
    "through": "src/deep/../../../outside/secret.txt",
    "loop1": "loop2",
    "loop2": "loop1",
    "self": "self",
    "long": "./" * 1500 + "../outside",
    "inner": "src",
    "inner_up": "src/deep",
    "dangling": "../outside/new.txt",
    "dangling_in": "made.txt",
    "key_link": ".env",
    "key_home": "state/pollux",
    "git_link": ".git",
    "hooks": ".git/hooks",
    "settings": "pollux.toml",
    "config_link": "config",
    "many0": "../outside",
    **{f"many{number}": f"many{number - 1}" for number in range(1, 50)},
}
ABSOLUTE_LINKS = {
    "abs_out": "{outside}",
    "abs_file": "{outside}/secret.txt",
    "abs_evil": "{evil}",
    "abs_in": "{root}/src",
    "etc": "/etc",
    "slash": "/",
    "proc": "/proc/self",
    "proc_root": "/proc/self/root",
    "proc_cwd": "/proc/self/cwd",
    "fds": "/proc/self/fd",
    "dev": "/dev",
    "dev_fd": "/dev/fd",
    "zero": "/dev/zero",
    "tty": "/dev/tty",
}


def _lay_links(world: World) -> None:
    for name, target in LINKS.items():
        os.symlink(target, world.root / name)
    for name, target in ABSOLUTE_LINKS.items():
        os.symlink(filled(target, world), world.root / name)


def _lay_odd_things(world: World) -> None:
    os.mkfifo(world.root / "fifo")
    os.link(world.outside / "secret.txt", world.root / "hard")
    os.link(world.root / ".env", world.root / "src" / "hard_key")
    (world.root / "src" / "hard_key").chmod(0o600)
    with suppress(PermissionError):  # Only root may make devices.
        os.mknod(world.root / "device", 0o666 | 0o020000, os.makedev(1, 5))
    folder = os.open(world.root, os.O_RDONLY)
    with socket.socket(socket.AF_UNIX) as server:
        # By a short name: a socket's path may not be long.
        server.bind(f"/proc/self/fd/{folder}/socket" if os.path.exists("/proc/self/fd") else str(world.root / "socket"))
    os.close(folder)


def filled(template: str, world: World) -> str:
    """The template with the world's own places in it."""
    for name in ("root", "outside", "evil", "home"):
        template = template.replace(f"{{{name}}}", str(getattr(world, name)))
    return template


def descriptors() -> int:
    """How many this process holds open."""
    # An earlier test's root may still wait for the collector, which would close it at any moment.
    gc.collect()
    return len(os.listdir("/proc/self/fd" if os.path.exists("/proc/self/fd") else "/dev/fd"))
