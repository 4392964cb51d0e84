"""Run the code of a block: by which program, with what around it, and what comes of it.

A child sees a small base of our environment, and what the runbook has set; secrets of ours are not among it. It finds
its input empty. Whatever it starts is gone when it ends or is stopped: see `pollux.tools.shell.process`.
"""

import codecs
import hashlib
import os
import re
import shutil
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Final, cast

from pollux.core.errors import ToolError, ValidationError
from pollux.core.frozen import frozen
from pollux.core.messages import JSON, CallFacts
from pollux.core.tools import ToolContext
from pollux.runbooks.blocks.block_type import Args
from pollux.runbooks.blocks.output_vars import output_file, read_variables
from pollux.runbooks.blocks.pinned import check_same, program_lines, subjects_of_programs, unaccepted_in
from pollux.tools.shell.judge import subjects
from pollux.tools.shell.parse import Simple, parse
from pollux.tools.shell.process import run_process
from pollux.tools.shell.surroundings import Surroundings

OUTPUT_LIMIT: Final = 1024 * 1024
"""How much of each output is kept: its beginning and its end, with what is left out said between them."""
CODE_LIMIT: Final = 128 * 1024 - 1
"""How many bytes one word of a command can have."""

TAKES_CODE_BY: Final[Mapping[str, str]] = {
    **dict.fromkeys(("bash", "sh", "zsh", "fish", "dash", "ksh", "python", "python3"), "-c"),
    **dict.fromkeys(("node", "nodejs", "ruby", "perl", "lua"), "-e"),
    "php": "-r",
}
"""The programs that a block may name, and how each is given a text of code."""


def command_of(interpreter: str, code: str) -> list[str]:
    """The program and its arguments. Raises ValidationError for an interpreter that is not known, or too much code."""
    words = interpreter.split()
    flag = _flag_of(words[0]) if words else None
    if flag is None:
        known = ", ".join(TAKES_CODE_BY)
        raise ValidationError(
            f"the interpreter must be one of {known}, by its name or absolute path; found {interpreter!r}"
        )
    if len(code.encode("utf-8", "replace")) > CODE_LIMIT:
        raise ValidationError(f"the code must have at most {CODE_LIMIT} bytes. Put the rest into a file, and run that")
    if "\0" in code:
        raise ValidationError("the code must not hold a NUL: no program can be given one")
    # "bash -ec" brings the flag along.
    has_flag = any(word.startswith("-") and not word.startswith("--") and flag[1] in word for word in words[1:])
    return [*words, *([] if has_flag else [flag]), code]


def _flag_of(program: str) -> str | None:
    name = os.path.basename(program)
    if name != program and not os.path.isabs(program):
        return None
    return TAKES_CODE_BY.get(re.sub(r"^python3?\.\d+$", "python3", name))


def subjects_of(interpreter: str, code: str, args: Args) -> frozenset[str]:
    """What rules and grants can speak of: the command as the shell tool's judge sees it, and what is set around it.

    A variable can change what a command does (PATH, LD_PRELOAD, BASH_ENV, and many a program's own). So leave for
    `git log` is none for it with a variable set, and leave for one value is none for another.

    A script finds the PATH as it is. So its words are the programs that everybody knows by them only where nothing on
    the PATH before these belongs to the folder.
    """
    env = environment_in(args)
    around = _around(args, env)
    is_plain = interpreter.split() in (["bash"], ["sh"]) and not around.is_shadowed([interpreter.strip()])
    if is_plain and isinstance(parsed := parse(code), Simple):
        is_plain = not around.is_shadowed(parsed.argv)
    command = code if is_plain else command_of(interpreter, code)
    return subjects(command, is_installed=around.is_installed) | environment_subjects(env) | subjects_of_programs(args)


def _around(args: Args, named: Mapping[str, str]) -> Surroundings:
    return Surroundings(Path(str(args["directory"])), named, keeps_path=True)


def environment_subjects(env: Mapping[str, str]) -> frozenset[str]:
    """What is set around a program, as rules and grants speak of it: by name, and by a digest of the value."""
    return frozenset(
        f"env:{name}#{hashlib.sha256(value.encode('utf-8', 'replace')).hexdigest()[:12]}" for name, value in env.items()
    )


def preview_of(what: str, facts: CallFacts, args: Args) -> str:
    """What will run, and where. Of variables only the names: values may be secret, and the arguments show them."""
    env = environment_in(args)
    named = f", with {', '.join(env)} set" if env else ""
    return f"{what} in {args['directory']}{named}:{program_lines(unaccepted_in(facts, args), args)}\n{args['code']}"


def environment_in(args: Args) -> dict[str, str]:
    """What the runbook has set."""
    return cast("dict[str, str]", args["env"])


@asynccontextmanager
async def at_work(
    context: ToolContext, facts: CallFacts, args: Args, interpreter: str, **extra: str
) -> "AsyncGenerator[Program]":
    """A block's code, ready to run. Raises ToolError where it cannot be: nothing has run."""
    argv, timeout = command_of(interpreter, str(args["code"])), args["timeout"]
    directory = _directory(args)
    check_same(interpreter, facts, args)
    with output_file() as file:
        around = _around(args, {**environment_in(args), **extra, "ATUIN_OUTPUT_VARS": str(file)})
        check_installed(argv[0], around.path)
        ready = await around.ready(argv, partial(run_process, cwd=directory))
        seconds = timeout if isinstance(timeout, int | float) else None
        yield Program(ready.argv, directory, ready.env, seconds, Telling(context, visible=bool(args["visible"])), file)


def _directory(args: Args) -> Path:
    directory = str(args["directory"])
    if not os.path.isdir(directory):
        raise ToolError(f"there is no directory {directory}. Make it, or change the block that names it")
    return Path(directory)


def check_installed(program: str, path: str) -> None:
    """Raises ToolError, with what there is, for a program that is not there: nothing has run."""
    if shutil.which(program, path=path or os.defpath) is None:
        found = [name for name in TAKES_CODE_BY if shutil.which(name, path=path or os.defpath)]
        raise ToolError(
            f"{program} is not installed here. Installed are: {', '.join(found) or 'none of those we know'}"
        )


@frozen
class Program:
    """What is started, and what its end is read from."""

    argv: list[str]
    directory: Path
    env: Mapping[str, str]
    timeout: float | None
    telling: "Telling"
    file: Path

    def over(self) -> tuple[dict[str, str], str]:
        """It has ended: the variables that it has set, and what to say where they could not be read."""
        self.telling.close()
        return read_variables(self.file)


def told(result: dict[str, JSON], *, reason: str, note: str) -> dict[str, JSON]:
    """The result, with why it was stopped and what else there is to say."""
    return {**result, **({"error": reason} if reason else {}), **({"note": note} if note else {})}


class Telling:
    """Passes a program's outputs on as text, piece by piece, and remembers in which order they came."""

    def __init__(self, context: ToolContext, *, visible: bool) -> None:
        self.pieces: list[str] = []
        self._context = context
        self._visible = visible
        self._decoders: dict[str, codecs.IncrementalDecoder] = {}

    def __call__(self, stream: str, data: bytes) -> None:
        self._tell(stream, lambda decoder: decoder.decode(data))

    def close(self) -> None:
        """Half a character at the very end is told as well, as one that is broken."""
        for stream in self._decoders:
            self._tell(stream, lambda decoder: decoder.decode(b"", True))

    def _tell(self, stream: str, decode: Callable[[codecs.IncrementalDecoder], str]) -> None:
        decoder = self._decoders.get(stream) or codecs.getincrementaldecoder("utf-8")("replace")
        self._decoders[stream] = decoder
        if text := decode(decoder):
            self.pieces.append(text)
            if self._visible:
                self._context.tell(text, stream=stream)
