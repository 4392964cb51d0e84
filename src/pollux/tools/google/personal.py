"""Whose tools these are: those of users who have connected an account, with the scopes that a tool needs."""

from typing import Protocol

from pollux.core.errors import AuthError
from pollux.core.ids import UserId


class Standing(Protocol):
    """How a user stands with Google."""

    @property
    def connected(self) -> bool: ...

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
