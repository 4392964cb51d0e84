"""The scripts for pages, `/pollux.js` and what it loads, for anybody, from anywhere.

They stand beside the door: a page of any site may load them, and they hold nothing that is not public. Only these names
are looked for, whatever else lies in the folder.
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
NAMES: Final = ("pollux.js", "automation.js", "automation.mjs")
OPEN: Final = {
    # Not by the page's leave: a script element asks with no origin, a fetch or an integrity check with one.
    "access-control-allow-origin": "*",
    "cross-origin-resource-policy": "cross-origin",
    "cache-control": "public, max-age=300",
    "vary": "accept-encoding",
}
PATHS: Final = {f"/{name}": name for name in NAMES}


@frozen
class Script:
    """A script as it was built: plain and compressed, each with its tag."""

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


class Scripts:
    """Answers for the scripts of a folder."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self._folder = folder
        self._known: dict[str, Script] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        name = PATHS[scope["path"]]
        correlation = correlation_id()
        try:
            status, headers, body = self._answer(name, scope["method"], Headers(scope=scope))
        except HttpError as problem:
            status, headers, document = rendered(problem, correlation)
            headers, body = {**headers, "content-type": "application/json"}, encoded(document)
        pairs = {**HEADERS, "x-correlation-id": correlation, **headers, "content-length": str(len(body))}
        if status == 304:
            del pairs["content-length"]
        raw = [(key.encode(), value.encode()) for key, value in pairs.items()]
        await send({"type": "http.response.start", "status": status, "headers": raw})
        await send({"type": "http.response.body", "body": body})

    def _answer(self, name: str, method: str, asked: Mapping[str, str]) -> tuple[int, dict[str, str], bytes]:
        if method not in ("GET", "HEAD"):
            message = f"expected GET here, found {method[:20]}"
            raise HttpError(405, "method_not_allowed", message, headers={"allow": "GET"})
        body, about = self._script(name).in_form(asked.get("accept-encoding", ""))
        headers = {**OPEN, **about, "content-type": "text/javascript; charset=utf-8"}
        seen = {tag.strip().removeprefix("W/") for tag in asked.get("if-none-match", "").split(",")}
        return (304, headers, b"") if seen & {about["etag"], "*"} else (200, headers, body)

    def _script(self, name: str) -> Script:
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


def _read(path: Path, stamp: tuple[int, int]) -> Script:
    content = path.read_bytes()
    # Without a time inside: the same script is the same bytes on every server.
    packed = gzip.compress(content, 9, mtime=0)
    return Script(stamp, content, packed, hashlib.sha256(content).hexdigest()[:32])
