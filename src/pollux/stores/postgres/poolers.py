"""Is there a pooler on the way that lends sessions by the transaction? It takes a LISTEN, and nothing is ever heard.

It would also lend our advisory lock to others, and with it the sign that we are alive. A notice of our own proves
nothing, since it comes back with the answer: it has to be given on another connection.
"""

from contextlib import AsyncExitStack
from secrets import token_hex

import psycopg
from psycopg import AsyncConnection

from pollux.core.errors import StoreError
from pollux.stores.postgres.address import Address
from pollux.stores.postgres.scopes import Db
from pollux.stores.postgres.troubles import explained

HEARD_SECONDS = 2.0
"""How long a notice may take. On a direct way it takes milliseconds."""


def is_direct(db: Db) -> bool:
    """Whether the server itself answers: a pooler gives each connection a number of its own."""
    row = db.execute("SELECT pg_backend_pid()").fetchone()
    return row == (db.info.backend_pid,)


async def check_hears(address: Address) -> None:
    """See that what is told on one connection to this address is heard on another. Raises StoreError."""
    channel = f"pollux_{token_hex(8)}"
    try:
        async with AsyncExitStack() as stack:
            ear, mouth = [
                await stack.enter_async_context(await AsyncConnection.connect(**address.parameters, autocommit=True))
                for _ in range(2)
            ]
            await ear.execute(f"LISTEN {channel}".encode())
            await mouth.execute("SELECT pg_notify(%s, '')", (channel,))
            async for _ in ear.notifies(timeout=HEARD_SECONDS, stop_after=1):
                return
    except psycopg.Error as problem:
        raise explained(problem, address) from problem
    raise StoreError(
        f"expected to hear notices over {address}, but a pooler in transaction mode keeps them back."
        " Give a direct address of the database in POLLUX_PG_LISTEN_URL"
    )
