"""Whose tools these are: those of users who have connected an account, with the scopes that a tool needs.

An action keeps to the account that it began with. The user may connect another one at any time; looked up there, what
was done would seem undone, and would be done again.
"""

from typing import Protocol, cast

from pollux.core.errors import AuthError
from pollux.core.ids import UserId
from pollux.core.messages import JSON
from pollux.core.tools import ToolContext


class Standing(Protocol):
    """How a user stands with Google."""

    @property
    def connected(self) -> bool: ...

    @property
    def email(self) -> str | None:
        """The account's address, where Google has told it."""
        ...

    @property
    def scopes(self) -> frozenset[str]: ...

    @property
    def problem(self) -> str:
        """Why a connection that is kept cannot be used."""
        ...


class Accounts(Protocol):
    """What is known of everybody's account, without asking Google."""

    async def status(self, user: UserId) -> Standing: ...

    def refusal(self, scopes: frozenset[str]) -> AuthError:
        """The error for an account that lacks these scopes, with where to go."""
        ...


async def admit(accounts: Accounts, user: UserId, scopes: frozenset[str]) -> None:
    """Raises AuthError, with where to go, if there is no account, or it lacks one of these scopes."""
    standing = await accounts.status(user)
    missing = scopes - standing.scopes if standing.connected else scopes
    if not missing:
        return
    said = standing.problem or "no Google account is connected. Connect one"
    if standing.connected:
        named = ", ".join(sorted(scope.rpartition("/")[2] for scope in missing))
        said = f"the connected Google account does not grant {named}. Connect it again and agree to that"
    raise AuthError(said, connect_url=accounts.refusal(missing).connect_url)


async def account_of(accounts: Accounts, context: ToolContext) -> str | None:
    """The account that an action keeps to: `account` in its note, or the connected one as long as nothing is noted.

    None means any account: its address is not known, or an older version made the note.
    """
    note = context.noted
    if isinstance(note, dict):
        account = cast("dict[str, JSON]", note).get("account")
        return account if isinstance(account, str) else None
    return (await accounts.status(context.user)).email
