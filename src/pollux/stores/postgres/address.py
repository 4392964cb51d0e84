"""Where the database is: an address as connection parameters, and as words that hold no password."""

from typing import Any

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from pollux.core.errors import ValidationError
from pollux.core.redact import Secret

GONE_SECONDS = 6
"""After so long without a sign, a peer counts as gone."""

APPLICATION = "pollux"
"""By this name we know our own connections at the server."""

_DEFAULTS: dict[str, Any] = {
    "connect_timeout": 5,
    # A host that vanished says nothing: without these, one would wait for it for hours.
    "keepalives": 1,
    "keepalives_idle": 2,
    "keepalives_interval": 1,
    "keepalives_count": 3,
    "tcp_user_timeout": GONE_SECONDS * 1000,
    "client_encoding": "utf8",
}


class Address:
    """How to connect. What the address itself says goes before our defaults."""

    def __init__(self, url: Secret | str) -> None:
        text = url.reveal() if isinstance(url, Secret) else url
        try:
            given = conninfo_to_dict(text)
        except ProgrammingError:
            # Without its cause, which repeats the address with the password in it.
            raise ValidationError(
                "expected an address like postgresql://user:password@host:5432/database, found something else"
            ) from None
        if any("@" in str(given.get(part) or "") for part in ("host", "port", "dbname")) or _is_no_port(given):
            # A password that is not encoded ends up in these, and they are shown.
            raise ValidationError(
                "expected an address like postgresql://user:password@host:5432/database, found an @ or a / too many."
                " Write those in a password as %40 and %2F"
            )
        self.parameters: dict[str, Any] = {**_DEFAULTS, **given, "application_name": APPLICATION}

    def __str__(self) -> str:
        host, port = self.parameters.get("host", ""), self.parameters.get("port", "")
        where = f"{host}:{port}" if port else str(host)
        return f"{where or 'localhost'}/{self.parameters.get('dbname', '')}"

    def __repr__(self) -> str:
        return f"Address({self})"


def _is_no_port(given: dict[str, Any]) -> bool:
    return any(not port.isdecimal() for port in str(given.get("port") or "").split(",") if port)
