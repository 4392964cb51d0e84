"""JSON as one line, for readers that end a line where Unicode does and not only at a line feed."""

from typing import Final

_BREAKS: Final = ((b"\xe2\x80\xa8", b"\\u2028"), (b"\xe2\x80\xa9", b"\\u2029"), (b"\xc2\x85", b"\\u0085"))
"""Each in UTF-8, and as JSON escapes it. JSON has them inside texts alone."""


def json_line(document: bytes) -> bytes:
    """The document with its line feed, and no other end of a line in it."""
    for found, escaped in _BREAKS:
        document = document.replace(found, escaped)
    return document + b"\n"
