"""Jay's address for a site's actions. A page of this server calls it without a token: a cookie says who visits."""

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import parse_qsl

import msgspec
from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from pollux.asgi.bodies import encoded, read_body, shaped
from pollux.asgi.door import ORIGIN, check_visit_place, is_same_origin
from pollux.asgi.errors import HttpError
from pollux.asgi.visits import Visit
from pollux.core.errors import AuthError
from pollux.core.messages import JSON
from pollux.page import verbs
from pollux.page.cookie import cookie_of, token_in
from pollux.page.jay import JayActions, Verb
from pollux.page.runtime import DEFAULT_PROFILE, PageRuntime
from pollux.page.shapes import ApprovalRequired, Response, SendBody, SubmitBody, Told
from pollux.tools.actions import Caller

PATH: Final = "/_jay/actions/{name}"
PREFIX: Final = "/_jay/actions/"


class JayRoute:
    """Answers at Jay's address."""

    def __init__(self, runtime: PageRuntime, actions: JayActions) -> None:
        self._runtime = runtime
        self._actions = actions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers, method = Headers(scope=scope), str(scope["method"])
        raw: bytes | Mapping[str, str] = dict(parse_qsl(scope["query_string"].decode("utf-8", "replace"), True))
        if method == "POST":
            raw = await read_body(receive, headers.get("content-length", ""), is_coming=True)
        visit, token = await self._visit(scope, headers)

        async def agent(which: Verb, input: dict[str, JSON]) -> dict[str, JSON]:
            return _plain(await self._talk(visit, which, input))

        caller = Caller(visit.user, visit.origin)
        name = scope["path_params"]["name"]
        status, answer = await self._actions.answer(name, method, raw, caller=caller, agent=agent)
        body = encoded(answer)
        pairs = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        if status == 405:
            pairs.append((b"allow", ", ".join(self._actions.allowed(name)).encode()))
        if token:
            pairs.append((b"set-cookie", cookie_of(token, secure=self._runtime.secure_cookies).encode()))
        await send({"type": "http.response.start", "status": status, "headers": pairs})
        await send({"type": "http.response.body", "body": body})

    async def _visit(self, scope: Scope, headers: Headers) -> tuple[Visit, str]:
        """Who calls, and a token for a cookie where they have none.

        Raises AuthError for a credential that is none, or used by another page than it was given to.
        """
        if "authorization" in headers:
            identity = await self._runtime.authority.identify(headers, str(scope["method"]))
            if identity.visit is not None:
                check_visit_place(identity.visit, scope, headers)
                return identity.visit, ""
            if "origin" in headers and not is_same_origin(headers["origin"], headers.get("host", "").lower()):
                raise AuthError("a page of another site needs a visitor's token. POST /api/page/session gives one")
            return Visit(identity.user, scope[ORIGIN], DEFAULT_PROFILE, identity.expires_at or 0.0), ""
        try:
            visit = await self._runtime.authority.visit_of(token_in(headers, secure=self._runtime.secure_cookies))
            check_visit_place(visit, scope, headers)
            return visit, ""
        except (AuthError, HttpError):
            token, visit = self._runtime.visits.given(origin=scope[ORIGIN], profile=DEFAULT_PROFILE)
            return visit, token

    async def _talk(self, visit: Visit, which: Verb, input: dict[str, JSON]) -> Told:
        if which == "sendMessage":
            body = shaped(input, SendBody)
            exchange = await verbs.read(self._runtime, visit, body)
            run = await verbs.begun(self._runtime, exchange, body)
        else:
            results = shaped(input, SubmitBody)
            exchange = await verbs.read(self._runtime, visit, results)
            run, _ = await verbs.submitted(self._runtime, exchange, results)
        return await verbs.answered(self._runtime, exchange, await verbs.settled(self._runtime, exchange, run.id))


def _plain(told: Told) -> dict[str, Any]:
    """What Jay's chat understands: of questions it knows nothing, so it says them."""
    if isinstance(told, ApprovalRequired):
        asked = "\n".join(f"- {question.preview or question.tool}" for question in told.approvals)
        told = Response(message=f"Approval needed:\n{asked}", history=told.history, run_id=told.run_id)
    return msgspec.to_builtins(told)
