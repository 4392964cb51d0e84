"""`pollux keys`: another key to seal with, and everything that was sealed put under it."""

import argparse
from typing import TYPE_CHECKING

from pollux.cli.kept import Teller, command, complete, settings_of, verb
from pollux.core.errors import PolluxError

if TYPE_CHECKING:
    from pollux.config import Settings

EXAMPLES = """\
examples:
  pollux keys rotate
  POLLUX_SEAL_KEY=new POLLUX_OLD_SEAL_KEYS=old pollux keys reseal
"""


def main(argv: list[str]) -> int:
    """Run the command; the result is the exit code."""
    arguments = _parser().parse_args(argv)
    settings = settings_of(arguments)
    teller = Teller(settings)
    if arguments.verb == "rotate":
        from pollux.bootstrap import new_seal_key

        former = new_seal_key(settings)
        teller.talk(f"there is a new key; the former one is {former.name} beside it, and still opens what it sealed")
    count = complete(_reseal(settings))
    teller.talk(f"{count} {'connection' if count == 1 else 'connections'} sealed anew")
    teller.talk(_what_servers_need(settings))
    return 0


def _what_servers_need(settings: "Settings") -> str:
    if settings.seal_key is not None:
        return "a `pollux serve` that runs with other keys cannot open them: start it again with these"
    return "a `pollux serve` that is running uses the new key for accounts now, and for browsers once restarted"


async def _reseal(settings: "Settings") -> int:
    from pollux.bootstrap import open_store, seal_keys

    try:
        from pollux.tools.google.connection import Connections
        from pollux.tools.google.seal import Sealer
    except ImportError:
        raise PolluxError("sealing needs packages that are missing: pip install 'pollux[google]'") from None
    store = open_store(settings)
    await store.open()
    try:
        return await Connections(store, Sealer(seal_keys(settings))).reseal_all()
    finally:
        await store.close()


def _parser() -> argparse.ArgumentParser:
    parser, verbs = command("keys", "The key that seals what users entrust to us, and browsers' sessions.", EXAMPLES)
    verb(verbs, "rotate", "Make a new key, keep the former one, and seal everything anew.")
    verb(verbs, "reseal", "Seal with the present key whatever a former one sealed.")
    return parser
