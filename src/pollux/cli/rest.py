"""How the rest of a run is to be gone on with and told: what the commands share that finish what another one began.

Light, as every parser is: what tells the rest is imported once there is something to tell.
"""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pollux.cli.arguments import seconds
from pollux.cli.early import heed
from pollux.cli.outlet import Outlet, Unwritable
from pollux.cli.reading import must_be_text
from pollux.cli.run import DEFAULT_TIMEOUT, FORMATS
from pollux.config import Settings
from pollux.core.errors import PolluxError
from pollux.core.frozen import frozen

if TYPE_CHECKING:
    from pollux.cli.writers import Format


@frozen
class Rest:
    """What the command line said about the rest of a run."""

    settings: Settings
    format: "Format"
    timeout: float
    config: str | None = None
    """The configuration file, where one was named."""
    system_prompt: str = ""
    allow: tuple[str, ...] = ()
    policy: Path | None = None
    """Besides the rules that the run was begun with: those are kept with it."""


def add_options(add: Any) -> None:
    """The options by which the rest is told as `pollux run` tells."""
    add("--output-format", choices=FORMATS, default="text", help="as in `pollux run` (default: text)")
    add("--timeout", type=seconds, default=DEFAULT_TIMEOUT, metavar="SECONDS", help="default: %(default)g")
    add("--system-prompt", default="", metavar="TEXT", help="another one than the run was begun with, for its rest")
    add("--allow", action="append", default=[], metavar="RULE", help="as in `pollux run`, for its rest")
    add("--policy", type=Path, metavar="FILE")
    add("--sandbox", choices=("auto", "required", "off"), help="as in `pollux run`, for its rest")


def rest_of(arguments: argparse.Namespace, settings: Settings) -> Rest:
    """What was said by these options. Raises ConfigError."""
    return Rest(
        settings=settings,
        format=arguments.output_format,
        timeout=arguments.timeout,
        config=None if arguments.config is None else str(settings.config),
        system_prompt=must_be_text(arguments.system_prompt, "--system-prompt"),
        allow=tuple(arguments.allow),
        policy=arguments.policy,
    )


def take_output() -> Outlet:
    """Standard output, before anything else is imported that might print. Raises PolluxError.

    From here on a signal has its last line.
    """
    try:
        outlet = Outlet()
    except Unwritable as problem:
        raise PolluxError(f"standard output cannot be written ({problem})") from None
    heed(outlet.descriptor)
    return outlet
