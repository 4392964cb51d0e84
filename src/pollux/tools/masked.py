"""A tool whose words are looked through: no credential that is known here goes on to the model, the journal or a
caller, whatever the tool returns and whatever it says when it fails."""

import re
from collections.abc import Awaitable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from pollux.core.errors import PolluxError
from pollux.core.messages import JSON
from pollux.core.redact import Masking, Secret
from pollux.core.tools import Reach, Reconciled, Tool, ToolContext
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
    """A tool without a secret in its results, in its errors, and in what it tells while it works."""

    def __init__(self, inner: Tool, secrets: Iterable[Secret]) -> None:
        super().__init__(inner)
        self._masking = Masking(secrets)

    async def run(self, context: ToolContext, args: dict[str, JSON]) -> Any:
        telling = _Telling(context.reach, self._masking)
        try:
            return self._masking.value(plain(await self._inner.run(replace(context, reach=telling), args)))
        except PolluxError as problem:
            # Its text is told. Of every other error only the kind is.
            problem.args = (self._masking.text(str(problem)),)
            raise
        finally:
            telling.close()

    async def reconcile(self, context: ToolContext, args: dict[str, JSON]) -> Reconciled:
        found = await self._inner.reconcile(context, args)
        return Reconciled(found.outcome, self._masking.value(plain(found.result)), self._masking.text(found.detail))


class _Telling:
    """What a tool at work may do, without a secret in what others see of it.

    What it notes is for itself, and what it asks for is what shall be done: neither is changed.
    """

    def __init__(self, inner: Reach, masking: Masking) -> None:
        self._inner = inner
        self._masking = masking
        self._streams: dict[str, Masking] = {}
        self.note = inner.note
        self.ask = inner.ask
        self.objection = inner.objection

    def tell(self, text: str, *, stream: str = "stdout") -> None:
        masking = self._streams.setdefault(stream, self._masking.again())
        if said := masking.piece(text):
            self._inner.tell(said, stream=stream)

    def observe(self, tool: str, title: str, status: str) -> Awaitable[None]:
        return self._inner.observe(tool, self._masking.text(title), self._masking.text(status))

    def close(self) -> None:
        """Nothing more comes: what was held back was no secret."""
        for stream, masking in self._streams.items():
            if rest := masking.rest():
                self._inner.tell(rest, stream=stream)
