"""The shop's pages, beside the doors of a server: a few files, each under its own path, for anybody.

Who opens a page is given a visitor's cookie with it, before the page and its chat both ask for something at once: what
the agent puts into the cart is in the cart that the page shows.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from pollux.asgi.door import ORIGIN
from pollux.asgi.visits import Visits
from pollux.core.errors import AuthError
from pollux.page.cookie import cookie_of, token_in
from pollux.page.runtime import DEFAULT_PROFILE

FOLDER: Final = Path(__file__).parent / "pages"
HOME: Final = "/shop/"
CSP: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:;"
    " require-trusted-types-for 'script'; trusted-types 'none'; base-uri 'none'; form-action 'none';"
    " frame-ancestors 'none'"
)
KINDS: Final = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


def _files() -> Mapping[str, Path]:
    """Every path there is, and the file behind it."""
    found: dict[str, Path] = {}
    for file in sorted(FOLDER.iterdir()):
        name = file.name if file.suffix != ".html" else file.stem.removesuffix("index")
        found[HOME + name] = file
    return found


FILES: Final = _files()
PATHS: Final = frozenset({HOME.rstrip("/"), *FILES})
"""What is public of it: these, and nothing beneath them."""


class Shop:
    """Answers for the shop's pages and passes on everything else."""

    def __init__(self, app: ASGIApp, visits: Visits) -> None:
        self._app = app
        self._visits = visits
        routes = [Route(path, self._page, methods=["GET"]) for path in FILES]
        self._pages = Router([*routes, Route(HOME.rstrip("/"), _to_home)], redirect_slashes=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] in PATHS:
            await self._pages(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _page(self, request: Request) -> Response:
        file = FILES[request.url.path]
        body, headers = file.read_bytes(), {"content-security-policy": CSP}
        if file.suffix != ".html":
            return Response(body, media_type=KINDS[file.suffix], headers=headers)
        is_secure = request.scope[ORIGIN].startswith("https:")
        headers["set-cookie"] = cookie_of(self._visitor(request.scope, secure=is_secure), secure=is_secure)
        return Response(body, media_type=KINDS[file.suffix], headers=headers)

    def _visitor(self, scope: Scope, *, secure: bool) -> str:
        """The token of who opens a page: the one that was given before, where it counts here."""
        token = token_in(Headers(scope=scope), secure=secure)
        try:
            if self._visits.read(token).origin == scope[ORIGIN]:
                return token
        except AuthError:
            pass
        return self._visits.given(origin=scope[ORIGIN], profile=DEFAULT_PROFILE)[0]


async def _to_home(request: Request) -> Response:
    return RedirectResponse(HOME, status_code=308)
