"""A tool whose words are looked through: no credential that is known here goes on to the model, the journal or a
caller, whatever the tool returns and whatever it says when it fails."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

from pollux.core.errors import PolluxError
from pollux.core.messages import JSON
from pollux.core.redact import MASK, Secret, forms_of
from pollux.core.tools import Reconciled, Tool, ToolContext
from pollux.engine.perform import plain
from pollux.tools.around import Around

SHORTEST: Final = 12
"""A variable's shorter value may well be a word that a result holds for other reasons."""
_NAMED_SO: Final = re.compile(r"(?:^|_)(?:KEY|TOKEN|SECRET|PASSWORD|PASSPHRASE|CREDENTIALS?)$", re.IGNORECASE)


def secrets_named(environ: Mapping[str, str]) -> tuple[Secret, ...]:
    """What the names of variables say is secret: `CRM_TOKEN`, `DB_PASSWORD`. Tools of others keep theirs there."""
    return tuple(
        Secret(value)
        for name, value in environ.items()
        # A path is a place where something lies, as in `SSL_KEY=/etc/ssl/private.pem`.
        if _NAMED_SO.search(name) and len(value) >= SHORTEST and not value.startswith("/")
    )


class MaskedTool(Around):
    """A tool without a secret in its results and in its errors."""

    def __init__(self, inner: Tool, secrets: Iterable[Secret]) -> None:
        super().__init__(inner)
        # The longest first: a short form may lie inside a longer one, and would leave its ends readable.
        self._forms = sorted({form for secret in secrets for form in forms_of(secret)}, key=len, reverse=True)

    async def run(self, context: ToolContext, args: dict[str, JSON]) -> Any:
        try:
            return self._masked(plain(await self._inner.run(context, args)))
        except PolluxError as problem:
            # Its text is told. Of every other error only the kind is.
            problem.args = (self._text(str(problem)),)
            raise

    async def reconcile(self, context: ToolContext, args: dict[str, JSON]) -> Reconciled:
        found = await self._inner.reconcile(context, args)
        return Reconciled(found.outcome, self._masked(plain(found.result)), self._text(found.detail))

    def _masked(self, value: JSON) -> JSON:
        match value:
            case str():
                return self._text(value)
            case dict():
                members = cast("dict[str, JSON]", value)
                return {self._text(name): self._masked(member) for name, member in members.items()}
            case list():
                return [self._masked(member) for member in cast("list[JSON]", value)]
            case _:
                return value

    def _text(self, text: str) -> str:
        for form in self._forms:
            if form in text:
                text = text.replace(form, MASK)
        return text
