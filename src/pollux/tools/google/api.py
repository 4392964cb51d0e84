"""Ask Google's REST services, and tell apart the four ways in which that can fail.

- AuthError: the account is not connected, or is not the one that was named, or its consent does not cover this.
- Refused: Google said no. Nothing happened.
- Busy: Google asked for patience for longer than we have. Nothing happened.
- Lost: no answer to rely on. It may have happened: only the caller knows what a repeat would mean.
"""

import asyncio
import json
import random
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, cast
from urllib.parse import urlencode

from pollux.core.errors import ModelError
from pollux.core.frozen import frozen
from pollux.core.ids import UserId
from pollux.core.messages import JSON
from pollux.core.redact import Secret
from pollux.tools.google.ports import Http, Tokens
from pollux.tools.google.refusal import Busy, Lost, Refused, wait_asked, words_of

MAX_ANSWER: Final = 16 * 1024 * 1024
MAX_TRIES: Final = 4
MAX_SECONDS: Final = 30.0
"""How long one call may take with all its repeats."""
FIRST_DELAY: Final = 0.5

Query = Mapping[str, str | Sequence[str]]
Pause = Callable[[float], Awaitable[None]]


@frozen
class _Request:
    path: str
    body: bytes | None = None


@frozen
class _Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes


class GoogleApi:
    """One of Google's services, at its base address."""

    def __init__(
        self,
        http: Http,
        tokens: Tokens,
        base: str,
        *,
        pause: Pause = asyncio.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._http = http
        self._tokens = tokens
        self._base = base.rstrip("/")
        self._pause = pause
        self._chance = chance

    async def get(
        self,
        user: UserId,
        scopes: frozenset[str],
        path: str,
        query: Query | None = None,
        *,
        account: str | None = None,
    ) -> dict[str, Any]:
        """What lies at a path. Looking is harmless: it is tried again before it counts as lost."""
        return await self._ask(user, scopes, _Request(_with(path, query)), account)

    async def post(
        self,
        user: UserId,
        scopes: frozenset[str],
        path: str,
        query: Query | None = None,
        *,
        json: JSON,
        account: str | None = None,
    ) -> dict[str, Any]:
        """Have something done. Never asked again after a lost answer: only the caller knows what that would mean."""
        return await self._ask(user, scopes, _Request(_with(path, query), _encoded(json)), account)

    async def _ask(
        self, user: UserId, scopes: frozenset[str], request: _Request, account: str | None
    ) -> dict[str, Any]:
        token = await self._tokens.token(user, scopes, account=account)
        until = time.monotonic() + MAX_SECONDS
        is_renewed = False
        tries = 0
        while True:
            tries += 1
            try:
                answer = await self._send(request, token, until)
                if answer.status == 401 and not is_renewed:
                    is_renewed = True
                    token = await self._tokens.renewed(user, scopes, token, account=account)
                    continue
                return self._judged(answer, scopes, token)
            except _Slow as slow:
                delay = self._delay(tries) if slow.delay is None else slow.delay
                if tries >= MAX_TRIES or time.monotonic() + delay > until:
                    raise Busy(_busy(slow.delay)) from None
            except Lost:
                delay = self._delay(tries)
                if request.body is not None or tries >= MAX_TRIES or time.monotonic() + delay > until:
                    raise
            await self._pause(delay)

    async def _send(self, request: _Request, token: Secret, until: float) -> _Answer:
        headers = {"Authorization": f"Bearer {token.reveal()}", "Accept": "application/json"}
        url = self._base + request.path
        left = max(1.0, until - time.monotonic())
        if request.body is None:
            sending = self._http.get(url, headers, idle=min(10.0, left), total=left)
        else:
            headers["Content-Type"] = "application/json; charset=utf-8"
            sending = self._http.post(url, headers, request.body, idle=left, total=left)
        try:
            async with sending as response:
                status, found = response.status, response.headers
                try:
                    body = await response.read_all(MAX_ANSWER)
                except ModelError:
                    if status < 300:
                        raise
                    # The status alone says that nothing happened; the words are a courtesy.
                    body = b""
        except ModelError as problem:
            raise Lost(f"there was no answer to rely on: {problem}", ended=problem.kind != "timeout") from problem
        return _Answer(status, found, body)

    def _judged(self, answer: _Answer, scopes: frozenset[str], token: Secret) -> dict[str, Any]:
        status = answer.status
        if 200 <= status < 300:
            return _decoded(answer.body)
        if status >= 500 or status == 408:
            # The others are words of a gateway, for somebody who may still be at work.
            raise Lost(f"Google's service failed with status {status}", ended=status in (500, 503))
        words = words_of(answer.body, answer.headers, secrets=[token])
        if status == 401 or (status == 403 and words.is_about_scopes):
            raise self._tokens.refusal(scopes)
        if status == 429 or (status == 403 and words.is_about_rate):
            raise _Slow(wait_asked(answer.headers, time.time()))
        raise Refused(status, words.reasons[0] if words.reasons else "", words.message)

    def _delay(self, tries: int) -> float:
        # Between half of it and all: those who were sent away together do not come back together.
        return FIRST_DELAY * 2 ** (tries - 1) * (0.5 + self._chance() / 2)


class _Slow(Exception):
    """Google wants to hear from us later; nothing happened."""

    def __init__(self, delay: float | None) -> None:
        super().__init__()
        self.delay = delay


def _with(path: str, query: Query | None) -> str:
    return f"{path}?{urlencode(query, doseq=True)}" if query else path


def _encoded(value: JSON) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def _decoded(body: bytes) -> dict[str, Any]:
    try:
        value: Any = json.loads(body)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise Lost("Google's answer is not the JSON object that was expected", ended=True)
    return cast("dict[str, Any]", value)


def _busy(delay: float | None) -> str:
    when = "in a minute" if delay is None else f"in {delay:.0f} seconds"
    return f"Google asks to slow down: nothing was done. Try again {when}"
