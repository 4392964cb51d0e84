"""What was built for browsers: the scripts for pages of any site, and the console, a page of our own.

They stand beside the door: they hold nothing that is not public, and whoever uses the console signs in from it. Only
these names are looked for, whatever else lies in the folder.
"""

import gzip
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from pollux.asgi.bodies import encoded
from pollux.asgi.door import HEADERS, correlation_id
from pollux.asgi.errors import HttpError, rendered
from pollux.core.frozen import frozen

FOLDER: Final = Path(__file__).parent.parent / "_static"
OPEN: Final = {
    # Not by the page's leave: a script element asks with no origin, a fetch or an integrity check with one.
    "access-control-allow-origin": "*",
    "cross-origin-resource-policy": "cross-origin",
    "cache-control": "public, max-age=300",
}
OURS: Final = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'",
    # Asked for again each time, and answered with a word where it is the same.
    "cache-control": "no-cache",
}
SCRIPT: Final = "text/javascript; charset=utf-8"


@frozen
class Asset:
    """A file that is given out: its name in the folder, its type, and for whom it is."""

    name: str
    media_type: str
    headers: dict[str, str]


PATHS: Final = {
    **{f"/{name}": Asset(name, SCRIPT, OPEN) for name in ("pollux.js", "automation.js", "automation.mjs")},
    # People type it either way, and a page that asks for a token beats an answer that does.
    **{path: Asset("console/index.html", "text/html; charset=utf-8", OURS) for path in ("/console", "/console/")},
    "/console/console.js": Asset("console/console.js", SCRIPT, OURS),
    "/console/console.css": Asset("console/console.css", "text/css; charset=utf-8", OURS),
    "/console/icon.svg": Asset("console/icon.svg", "image/svg+xml", OURS),
}


@frozen
class Built:
    """A file as it was built: plain and compressed, each with its tag."""

    stamp: tuple[int, int]
    """When the file was written and how long it is: another file is read anew."""
    plain: bytes
    packed: bytes
    tag: str

    def in_form(self, accepted: str) -> tuple[bytes, dict[str, str]]:
        """The bytes for whoever accepts these encodings, and what says so."""
        if takes_gzip(accepted):
            return self.packed, {"content-encoding": "gzip", "etag": f'"{self.tag}-gzip"'}
        return self.plain, {"etag": f'"{self.tag}"'}


class Assets:
    """Answers for the files of a folder."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self._folder = folder
        self._known: dict[str, Built] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        asset = PATHS[scope["path"]]
        correlation = correlation_id()
        try:
            status, headers, body = self._answer(asset, scope["method"], Headers(scope=scope))
        except HttpError as problem:
            status, headers, document = rendered(problem, correlation)
            headers, body = {**headers, "content-type": "application/json"}, encoded(document)
        pairs = {**HEADERS, "x-correlation-id": correlation, **headers, "content-length": str(len(body))}
        if status == 304:
            del pairs["content-length"]
        raw = [(key.encode(), value.encode()) for key, value in pairs.items()]
        await send({"type": "http.response.start", "status": status, "headers": raw})
        await send({"type": "http.response.body", "body": body})

    def _answer(self, asset: Asset, method: str, asked: Mapping[str, str]) -> tuple[int, dict[str, str], bytes]:
        if method not in ("GET", "HEAD"):
            message = f"expected GET here, found {method[:20]}"
            raise HttpError(405, "method_not_allowed", message, headers={"allow": "GET"})
        body, about = self._built(asset.name).in_form(asked.get("accept-encoding", ""))
        headers = {**asset.headers, **about, "vary": "accept-encoding", "content-type": asset.media_type}
        seen = {tag.strip().removeprefix("W/") for tag in asked.get("if-none-match", "").split(",")}
        return (304, headers, b"") if seen & {about["etag"], "*"} else (200, headers, body)

    def _built(self, name: str) -> Built:
        path = self._folder / name
        try:
            stat = path.stat()
            stamp = (stat.st_mtime_ns, stat.st_size)
            if (known := self._known.get(name)) is None or known.stamp != stamp:
                known = self._known[name] = _read(path, stamp)
        except OSError:
            raise HttpError(404, "not_found", f"there is no {name}: the browser side is not built: make web") from None
        return known


def takes_gzip(accepted: str) -> bool:
    """Whether an Accept-Encoding header allows gzip."""
    for each in accepted.lower().split(","):
        coding, _, weight = each.partition(";")
        if coding.strip() in ("gzip", "*"):
            return weight.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False


def _read(path: Path, stamp: tuple[int, int]) -> Built:
    content = path.read_bytes()
    # Without a time inside: the same file is the same bytes on every server.
    packed = gzip.compress(content, 9, mtime=0)
    return Built(stamp, content, packed, hashlib.sha256(content).hexdigest()[:32])
