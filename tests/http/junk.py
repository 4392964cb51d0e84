"""What no client should send: bodies that are no JSON or the wrong JSON, and requests that are no HTTP."""

import json
from collections.abc import Iterator

from tests.http.endless import NO_MORE

from pollux.http.attachments import LARGEST_BODY

MIB = 1 << 20


def padded(size: int) -> bytes:
    """A body of exactly so many bytes."""
    frame = b'{"prompt": "%s"}'
    return frame % (b"x" * (size - len(frame) + 2))


def nested(depth: int, *, opening: bytes = b"[", closing: bytes = b"]", core: bytes = b"") -> bytes:
    return opening * depth + core + closing * depth


VALUES: dict[str, bytes] = {
    "a lone high surrogate": rb'"\ud800"',
    "a lone low surrogate": rb'"\udfff"',
    "surrogates in the wrong order": rb'"\udc00\ud800"',
    "a raw surrogate": b'"\xed\xa0\x80"',
    "a whole pair": rb'"\ud83d\ude00"',
    "an escaped NUL": rb'"a\u0000b"',
    "a raw NUL": b'"a\x00b"',
    "a raw control character": b'"a\x07b"',
    "a raw line break": b'"a\nb"',
    "line separators": '"\u2028\u2029"'.encode(),
    "right-to-left text": '"\u202egnp.exe"'.encode(),
    "not a character": '"\uffff\ufffe"'.encode(),
    "combining marks": ('"' + "a" + "\u0301" * 5000 + '"').encode(),
    "an emoji": '"😀"'.encode(),
    "a bad escape": rb'"\x41"',
    "a cut escape": rb'"\u12"',
    "an empty text": b'""',
    "blanks": b'"   "',
    "a long text": b'"' + b"y" * 300_000 + b'"',
    "a text of 201": b'"' + b"y" * 201 + b'"',
    "null": b"null",
    "true": b"true",
    "zero": b"0",
    "minus zero": b"-0",
    "minus zero as a float": b"-0.0",
    "a float": b"1.5",
    "a small float": b"5e-324",
    "a float that vanishes": b"1e-999",
    "a float too large": b"1e999",
    "a negative float too large": b"-1e999",
    "2**53 + 1": str(2**53 + 1).encode(),
    "2**63": str(2**63).encode(),
    "2**64": str(2**64).encode(),
    "-2**63 - 1": str(-(2**63) - 1).encode(),
    "forty digits": b"9" * 40,
    "four thousand digits": b"9" * 4000,
    "five thousand digits": b"9" * 5000,
    "a hundred thousand digits": b"9" * 100_000,
    "digits after the point": b"0." + b"1" * 100_000,
    "a long exponent": b"1e" + b"9" * 10_000,
    "NaN": b"NaN",
    "Infinity": b"Infinity",
    "-Infinity": b"-Infinity",
    "a plus sign": b"+1",
    "a leading zero": b"01",
    "hexadecimal": b"0x10",
    "a bare point": b".5",
    "single quotes": b"'a'",
    "undefined": b"undefined",
    "Python's None": b"None",
    "an empty array": b"[]",
    "an empty object": b"{}",
    "an array of texts": b'["a", "b"]',
    "an object": b'{"a": {"b": []}}',
    "a name twice": b'{"a": 1, "a": 2}',
    "a name twice, escaped once": rb'{"a": 1, "\u0061": 2}',
    "an empty name": b'{"": 1}',
    "a surrogate as a name": rb'{"\ud800": 1}',
    "a NUL as a name": rb'{"\u0000": 1}',
    "__proto__": b'{"__proto__": {"x": 1}, "constructor": 1}',
    "a reference": b'{"$ref": "#", "$": "0123456789abcdef0123456789abcdef"}',
    "a trailing comma": b'{"a": 1,}',
    "a comment": b"/* a */ 1",
    "sixty arrays": nested(60),
    "sixty-two arrays": nested(62),
    "sixty-three arrays": nested(63),
    "sixty-five arrays": nested(65),
    "a thousand arrays": nested(1000),
    "ten thousand arrays": nested(10_000),
    "ten thousand arrays, open": b"[" * 10_000,
    "ten thousand objects": nested(10_000, opening=b'{"a":', closing=b"}", core=b"1"),
    "a hundred thousand arrays": nested(100_000),
    "a wide array": b"[" + b"0," * 50_000 + b"0]",
    "a wide object": json.dumps({f"n{n}": n for n in range(20_000)}).encode(),
    "SQL": b'"\'; DROP TABLE runs; --"',
    "a template": b'"{{7*7}} ${7*7} %s %(x)s {0.__class__}"',
    "a path": b'"../../../etc/passwd"',
    "a terminal's escapes": rb'"\u001b]0;x\u0007\u001b[2J"',
}
"""JSON values, and what looks like some: each is put where a route expects something."""

BODIES: dict[str, bytes] = {
    "nothing": b"",
    "blanks": b" \t\r\n ",
    "a NUL": b"\x00",
    "ten NULs": b"\x00" * 10,
    "a byte-order mark": b"\xef\xbb\xbf{}",
    "only a byte-order mark": b"\xef\xbb\xbf",
    "UTF-16": '{"prompt": "a"}'.encode("utf-16"),
    "UTF-16 without a mark": '{"prompt": "a"}'.encode("utf-16-le"),
    "UTF-32": '{"prompt": "a"}'.encode("utf-32"),
    "Latin-1": '{"prompt": "é"}'.encode("latin-1"),
    "Shift JIS": '{"prompt": "日本"}'.encode("shift-jis"),
    "overlong UTF-8": b'{"prompt": "\xc0\xaf"}',
    "UTF-8 above the last character": b'{"prompt": "\xf4\x90\x80\x80"}',
    "UTF-8 cut off": b'{"prompt": "\xe2\x82"}',
    "UTF-8 that never ends": b"\xff" * 1000,
    "every byte": bytes(range(256)),
    "cut off after the brace": b"{",
    "cut off in a name": b'{"pro',
    "cut off in a text": b'{"prompt": "a',
    "cut off before the last brace": b'{"prompt": "a"',
    "garbage behind": b'{"prompt": "a"} x',
    "two objects": b'{"prompt": "a"}{"prompt": "b"}',
    "two lines": b'{"prompt": "a"}\n{"prompt": "b"}\n',
    "a closing brace": b"}",
    "an array": b'[{"prompt": "a"}]',
    "an empty array": b"[]",
    "an empty object": b"{}",
    "a text": b'"prompt"',
    "a number": b"42",
    "null": b"null",
    "true": b"true",
    "NaN": b"NaN",
    "an unknown member": b'{"prompt": "a", "nonsense": 1}',
    "another's spelling": b'{"Prompt": "a"}',
    "a name twice": b'{"prompt": "a", "prompt": "b"}',
    "a form": b"prompt=a&threadId=b",
    "a multipart form": b'--x\r\nContent-Disposition: form-data; name="prompt"\r\n\r\na\r\n--x--\r\n',
    "XML": b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><x>&e;</x>',
    "YAML": b"prompt: a\n",
    "HTML": b"<script>alert(1)</script>",
    "gzip": b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xabV*(\xca\xcf-(Q\xb2RJT\xaa\x05\x00",
    "a pickle": b"\x80\x04\x95\x0c\x00\x00\x00\x00\x00\x00\x00\x8c\x02os\x94.",
    "MessagePack": b"\x81\xa6prompt\xa1a",
    "a ZIP": b"PK\x03\x04" + bytes(60),
    "a PNG": b"\x89PNG\r\n\x1a\n" + bytes(60),
    "JavaScript": b"while(1);",
    "a guard": b")]}',\n{}",
    "sixty-four arrays": nested(64),
    "sixty-five arrays": nested(65),
    "ten thousand arrays": nested(10_000),
    "ten thousand objects": nested(10_000, opening=b'{"a":', closing=b"}", core=b"1"),
    "a mebibyte": padded(MIB),
    "a mebibyte and one": padded(MIB + 1),
    "a mebibyte of blanks": b" " * MIB,
    "a mebibyte of brackets": b"[" * MIB,
    "a mebibyte of digits": b"1" * MIB,
}
"""Whole bodies."""

PLACES: dict[str, tuple[str, ...]] = {
    "/api/agent/run": ('{"prompt": %s}', '{"prompt": "a", "threadId": %s}', '{"prompt": "a", "profile": %s}'),
    "/api/agent/run/stream": ('{"prompt": %s}', '{"prompt": "a", "supersede": %s}'),
    "/api/agent/approvals/resolve": (
        '{"approvalId": %s, "decision": "reject"}',
        '{"approvalId": "ID", "decision": %s}',
        '{"approvalId": "ID", "decision": "reject", "feedback": %s}',
        '{"approvalId": "ID", "decision": "reject", "argsHash": %s}',
    ),
    "/api/agent/approvals/{id}/edit": ('{"args": %s}', '{"args": {"text": %s}}'),
    "/api/agent/actions/{id}/settle": ('{"outcome": %s}',),
    "/api/agent/threads/{id}": ('{"title": %s}',),
    "/api/session/sign-in": ('{"token": %s}',),
}
"""Where in a route's body a value goes. ID stands for one that is there."""


def bodies_for(path: str) -> Iterator[tuple[str, bytes]]:
    """Every body for this route, by what it is."""
    yield from BODIES.items()
    for place in PLACES.get(path, ("%s",)):
        before, _, after = place.partition("%s")
        for name, value in VALUES.items():
            yield f"{name} in {place}", before.encode() + value + after.encode()


def head(method: str, target: str, *lines: str, host: str = "127.0.0.1") -> bytes:
    """The beginning of a request."""
    return "\r\n".join([f"{method} {target} HTTP/1.1", f"Host: {host}", *lines, "", ""]).encode("latin-1")


TARGETS: tuple[str, ...] = (
    "", "/", "//", "///", "/api", "/api/", "/api/agent/run/", "//api/agent/runs", "/api//agent/runs",
    "/api/agent/runs/%00", "/api/agent/runs/run_%00x", "/api/agent/threads/%00/messages", "/%00", "/%", "/%zz",
    "/%u0041", "/api/agent/runs/%2e%2e", "/api/agent/runs/..", "/api/agent/runs/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
    "/../../etc/passwd", "/..%5c..%5cwindows", "/api/agent/runs/%2f", "/api/agent/runs/a%2fb",
    "/api/agent/runs/a%2fcancel", "/api/agent/runs/%c0%af", "/api/agent/runs/%ed%a0%80", "/api/agent/runs/%ff%fe",
    "/api/agent/runs/%f4%90%80%80", "/api/agent/runs/\xff", "/api/agent/runs/é", "/api/agent/runs/%0d%0aX-Evil:%201",
    "/api/agent/runs/%e2%80%ae", "/api/agent/runs/" + "a" * 60_000, "/api/agent/runs/" + "%41" * 20_000,
    "/" + "a/" * 20_000, "/api/agent/runs/" + "9" * 5000, "/api/agent/runs/run_", "/api/agent/runs/run_1?",
    "/api/agent/runs/-1", "/api/agent/runs/*", "/api/agent/runs/'%20OR%201=1--", "/api/agent/runs/${jndi:ldap:x}",
    "/api/agent/threads/thr_%25", "/api/agent/approvals/apr_/edit", "/api/agent/approvals//edit",
    "/api/agent/actions//settle", "/api/agent/grants/", "/api/agent/runs#fragment", "/api/agent/runs;x=1",
    "/api/agent/runs?limit=1#x", "/API/AGENT/RUNS", "/api/agent/runs\\x", "http://127.0.0.1/api/agent/runs",
    "http://evil.example/api/agent/runs", "https://127.0.0.1/healthz", "ftp://x/", "*", "127.0.0.1:80",
    "api/agent/runs", "?limit=1", "http://", "http://[::1", "http://[::1]/healthz", "file:///etc/passwd",
    "/openapi.json/", "/openapi.json?x", "/login", "/login?token=", "/login?token=%ff", "/login?token=" + "t" * 9000,
    "/healthz?" + "&".join(f"a{n}=1" for n in range(500)), "/readyz/../healthz", "/favicon.ico", "/.env",
    "/.git/config",
)  # fmt: skip
"""What may stand where a path should."""

QUERIES: tuple[str, ...] = (
    "", "0", "-1", "1", "26", "101", "1.0", "1.5", "1e3", "abc", "null", "true", "nan", "NaN", "inf", "-inf",
    "Infinity", "9" * 30, "9" * 5000, "-9223372036854775809", "0x10", "1_000", "%2B1", "+1", "%201", "1%20", "%00",
    "a%00b", "%ff", "%c0%af", "%ed%a0%80", "%f4%90%80%80", "%", "%zz", "%e2%80%ae", "%0d%0a", "[]", "{}", "%D9%A1",
    "%C2%B2", "1&X=2", "1;X=2", "..%2f..", "'%20OR%201=1--", "%25s", "x" * 10_000, "%F0%9F%98%80", "undefined",
    "None", "-0", "1e-400", "1e400",
)  # fmt: skip
"""What may stand behind a name in a query; X is that name."""

HEADER_VALUES: tuple[str, ...] = (
    "", " ", "0", "-1", "1.5", "9" * 5000, "\xff\xfe", "é", "\x80", "\t", "a\tb", "a,b", "a;b", '"', "'", "%00",
    "null", "Bearer", "Bearer ", "Bearer  x", "bearer x", "Basic YTpi", "Bearer \xff", "Bearer a b",
    "Bearer " + "t" * 9000, "Bearer a.b.c", "Bearer ..", "Bearer eyJhbGciOiJub25lIn0.e30.", "Digest x=1",
    "pollux_session=", "pollux_session=.", "pollux_session=a.b", "pollux_session=\xff.\xff", 'pollux_session="a',
    "pollux_session=a; pollux_session=b", "=", ";;;", "a=" * 2000, "bytes=0-", "text/event-stream",
    "text/event-stream;q=0, */*", "*/*;q=2", "gzip, br", "http://evil.example", "http://127.0.0.1", "null, null",
    "http://[", "http://[::1", "cross-site", "same-origin", "1" * 16, "1" * 15, "chunked, x",
)  # fmt: skip
HEADERS: tuple[str, ...] = (
    "Authorization", "Cookie", "Idempotency-Key", "Last-Event-ID", "Accept", "Origin", "Sec-Fetch-Site",
    "X-Pollux-CSRF", "Content-Type", "Content-Encoding", "Range", "If-None-Match", "X-Forwarded-For",
    "X-Forwarded-Host", "Forwarded", "Accept-Encoding", "X-HTTP-Method-Override", "Traceparent", "Host",
)  # fmt: skip


def raw_requests(auth: str) -> Iterator[tuple[str, tuple[bytes, ...]]]:
    """Requests that HTTP does not know, or knows too well, by what they are."""
    run = b'{"prompt": "a"}'
    size = f"Content-Length: {len(run)}"
    post = ("POST", "/api/agent/run", auth)
    get = ("GET", "/api/agent/runs", auth)
    close = "Connection: close"
    plain = head(*get, close)
    yield "nothing", (NO_MORE,)
    yield "a line break", (b"\r\n", NO_MORE)
    yield "NULs", (b"\x00" * 100,)
    yield "TLS", (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(500),)
    yield "SSH", (b"SSH-2.0-OpenSSH_9.9\r\n",)
    yield "SOCKS", (b"\x05\x01\x00",)
    yield "an HTTP/2 preface", (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(9),)
    yield "an upgrade to HTTP/2", (head(*get, close, "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQ="),)
    yield (
        "an upgrade to a WebSocket",
        (
            head(
                *get,
                "Connection: Upgrade",
                "Upgrade: websocket",
                "Sec-WebSocket-Key: AAAA",
                "Sec-WebSocket-Version: 13",
            ),
            NO_MORE,
        ),
    )
    yield "HTTP/0.9", (b"GET /healthz\r\n", NO_MORE)
    yield "HTTP/1.0", (b"GET /healthz HTTP/1.0\r\n\r\n",)
    yield "HTTP/1.0 with a host", (b"GET /healthz HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n",)
    for version in ("HTTP/1.2", "HTTP/9.9", "HTTP/11", "HTTP/1", "http/1.1", "ICY/1.1", ""):
        yield f"version {version!r}", (f"GET /healthz {version}\r\nHost: 127.0.0.1\r\n\r\n".encode(),)
    for method in (
        "TRACE",
        "CONNECT",
        "OPTIONS",
        "HEAD",
        "PUT",
        "PROPFIND",
        "get",
        "G\x00T",
        "G T",
        "É",
        "X" * 5000,
        "",
    ):
        yield f"method {method[:9]!r}", (head(method, "/api/agent/runs", auth, close),)
        yield f"method {method[:9]!r} where all may", (head(method, "/openapi.json", close),)
    for target in TARGETS:
        for method in ("GET", "POST", "DELETE"):
            yield f"{method} {target[:40]!r}", (head(method, target, auth, close, "Content-Length: 2"), b"{}")
    yield "no host", (b"GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n",)
    for host in (
        "",
        "evil.example",
        "127.0.0.1, evil",
        "127.0.0.1:99999999",
        "[::1",
        "[::1]:x",
        "\xff",
        "a" * 60_000,
        "@",
        ":",
    ):
        yield f"host {host[:20]!r}", (head("GET", "/healthz", close, host=host),)
    yield "two hosts", (head("GET", "/healthz", "Host: 127.0.0.1", close),)
    yield "two lengths", (head(*post, close, size, size) + run,)
    yield "two lengths that differ", (head(*post, close, size, "Content-Length: 3") + run,)
    yield "a list of lengths", (head(*post, close, "Content-Length: 15, 15") + run,)
    for length in ("-1", "+15", "0x0f", "15x", "1e1", "", " ", "9" * 30, "18446744073709551616", "015", "1 5", "\xb2"):
        yield f"length {length!r}", (head(*post, close, f"Content-Length: {length}") + run,)
    yield "a length too long", (head(*post, close, "Content-Length: 99") + run, NO_MORE)
    yield "a length too short", (head(*post, "Content-Length: 3") + run,)
    yield "no length", (head(*post, close) + run,)
    yield (
        "a length and chunks",
        (head(*post, close, size, "Transfer-Encoding: chunked") + b"f\r\n" + run + b"\r\n0\r\n\r\n",),
    )
    yield (
        "chunks and a length",
        (head(*post, close, "Transfer-Encoding: chunked", "Content-Length: 4") + b"0\r\n\r\n" + plain,),
    )
    for coding in (
        "chunked, chunked",
        "xchunked",
        "gzip, chunked",
        "chunked, gzip",
        "identity",
        " chunked",
        "\tchunked",
        "CHUNKED",
    ):
        coded = head(*post, close, f"Transfer-Encoding: {coding}")
        yield f"coding {coding!r}", (coded + b"f\r\n" + run + b"\r\n0\r\n\r\n",)
    yield (
        "two codings",
        (
            head(*post, close, "Transfer-Encoding: chunked", "Transfer-Encoding: identity")
            + b"f\r\n"
            + run
            + b"\r\n0\r\n\r\n",
        ),
    )
    chunked = head(*post, close, "Transfer-Encoding: chunked")
    unfinished = ("a chunk cut off", "a chunk's size without end", "an extension without end", "no last chunk")
    for name, body in {
        "chunks": b"5\r\n" + run[:5] + b"\r\na\r\n" + run[5:] + b"\r\n0\r\n\r\n",
        "chunks with extensions": b"f;x=1\r\n" + run + b"\r\n0\r\n\r\n",
        "chunks with trailers": b"f\r\n" + run + b"\r\n0\r\nAuthorization: Bearer x\r\n\r\n",
        "a chunk of junk": b"zz\r\n" + run,
        "a negative chunk": b"-f\r\n" + run,
        "a chunk too large": b"ffffffffffffffffff\r\n" + run,
        "a chunk cut off": b"ff\r\n" + run,
        "a chunk too long": b"2\r\n" + run + b"\r\n0\r\n\r\n",
        "a chunk with bare line feeds": b"f\n" + run + b"\n0\n\n",
        "a chunk's size without end": b"0" * 100_000,
        "an extension without end": b"f;" + b"x" * 100_000,
        "no last chunk": b"f\r\n" + run + b"\r\n",
        "too much in chunks": (b"10000\r\n" + b" " * 65536 + b"\r\n") * (LARGEST_BODY // 65536 + 4) + b"0\r\n\r\n",
    }.items():
        yield name, (chunked + body, *([NO_MORE] if name in unfinished else []))
    gzip = BODIES["gzip"]
    yield "gzip", (head(*post, close, "Content-Encoding: gzip", f"Content-Length: {len(gzip)}"), gzip)
    for kind in (
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/xml",
        "a/b; charset=utf-7",
        "\xff",
    ):
        yield f"type {kind!r}", (head(*post, close, f"Content-Type: {kind}", size) + run,)
    yield "Expect", (head(*post, close, "Expect: 100-continue", size), run)
    yield "Expect too much", (head(*post, close, "Expect: 100-continue", f"Content-Length: {LARGEST_BODY + 1}"),)
    yield "Expect nonsense", (head(*post, close, "Expect: miracles", size), run)
    yield "one after the other", (head(*get) + head("GET", "/healthz") + plain,)
    yield "a hundred at once", (head("GET", "/healthz") * 100 + plain,)
    yield "one after a refusal", (head("GET", "/nowhere", auth) + head(*post, size) + run + plain,)
    yield "a request inside a body", (head(*post, close, f"Content-Length: {len(plain)}") + plain,)
    yield "a header of 64 KiB", (head(*get, close, "X-Long: " + "a" * 65_536),)
    yield "a mebibyte of headers", (head(*get, close, *["X-Long: " + "a" * 1000] * 1000),)
    yield "ten thousand headers", (head(*get, close, *[f"X-{n}: 1" for n in range(10_000)]),)
    yield "a header's name of 64 KiB", (head(*get, close, "X" * 65_536 + ": 1"),)
    for line in (
        "X: a\r\n b",
        "X : a",
        " X: a",
        ": a",
        "X",
        "X\x00: a",
        "X: a\x00b",
        "X: a\nY: b",
        "X: a\rY: b",
        "X(: a",
        "É: a",
    ):
        yield f"header {line!r}", (head(*get, close, line),)
    yield "bare line feeds", (f"GET /healthz HTTP/1.1\nHost: 127.0.0.1\n{close}\n\n".encode(),)
    yield "a blank before the method", (b" " + plain,)
    yield "line breaks before the method", (b"\r\n\r\n" + plain,)
    yield "byte by byte", tuple(bytes([byte]) for byte in head("GET", "/healthz", close))
    yield "a head cut off", (plain[:20], NO_MORE)
    yield "a head without its end", (plain[:-2], NO_MORE)
    for name in HEADERS:
        for value in HEADER_VALUES:
            others = [line for line in (auth, "Host: 127.0.0.1") if not line.startswith(name)]
            first = f"POST /api/agent/run HTTP/1.1\r\n{name}: {value}"
            yield (
                f"{name}: {value[:30]!r}",
                ("\r\n".join([first, *others, close, size, "", ""]).encode("latin-1") + run,),
            )
