"""A process of its own that keeps swapping names beneath a root for links that lead out of it, until it is killed.

`door` is a folder and a link to the outside in turn, `door/latch` too, `notes.txt` a file and a link to the secret;
`a/b` is moved out of the root and back while others take the way through it and back by `..`.
"""

import os
import sys
from contextlib import suppress


def swap(place: str, target: str) -> None:
    """The real thing aside, a link in its place, and back again."""
    with suppress(OSError):
        os.rename(place, f"{place}.aside")
        os.symlink(target, place)
    with suppress(OSError):
        if os.path.islink(place):
            os.unlink(place)
    with suppress(OSError):
        os.rename(f"{place}.aside", place)


def main(root: str, outside: str) -> None:
    os.chdir(root)
    print("swapping", flush=True)
    while True:
        swap("door", outside)
        swap("door", "../outside")
        swap("door/latch", "../../outside")
        swap("notes.txt", "../outside/secret.txt")
        with suppress(OSError):
            os.rename("a/b", "../outside.b")
        with suppress(OSError):
            os.rename("../outside.b", "a/b")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
