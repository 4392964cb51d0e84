"""Variables that a program sets: it finds a file's path in ATUIN_OUTPUT_VARS, and writes into it.

name=value          one line each
name<<WORD          several lines, up to one that is WORD
"""

import os
import stat
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from pollux.runbooks.blocks.block_type import VARIABLE

MAX_BYTES: Final = 256 * 1024


@contextmanager
def output_file() -> Generator[Path]:
    """An empty file that is ours alone, as long as the program runs."""
    with TemporaryDirectory(prefix="pollux-vars-", ignore_cleanup_errors=True) as folder:
        path = Path(folder) / "vars"
        path.touch(mode=0o600)
        yield path


def read_variables(path: Path) -> tuple[dict[str, str], str]:
    """The variables, and what to say where they could not be read."""
    try:
        # The program may have put anything in its place: a pipe, at which we would wait for ever, or a link.
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(file, "rb") as opened:
            if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
                return {}, "the file of ATUIN_OUTPUT_VARS is no file any more: no variables were set"
            written = opened.read(MAX_BYTES + 1)
    except OSError as problem:
        return {}, f"the file of ATUIN_OUTPUT_VARS cannot be read ({problem.strerror}): no variables were set"
    if len(written) > MAX_BYTES:
        return {}, f"more than {MAX_BYTES // 1024} KiB were written to ATUIN_OUTPUT_VARS: no variables were set"
    return parse(written.decode("utf-8", "replace")), ""


def parse(text: str) -> dict[str, str]:
    """The variables by name; the last one of a name counts. Lines that are none are passed over."""
    found: dict[str, str] = {}
    lines = iter(text.splitlines())
    for line in lines:
        before, _, value = line.partition("=")
        name, angles, word = before.partition("<<")
        if angles and name.strip() and (word := line.partition("<<")[2].strip()):
            inside: list[str] = []
            for inner in lines:
                if inner.strip() == word:
                    break
                inside.append(inner)
            name, value = name.strip(), "\n".join(inside)
        elif "=" not in line:
            continue
        else:
            name = before
        if VARIABLE.fullmatch(name):
            found[name] = value
    return found
