"""What a JSON reader raises for bytes that are none: not only what is called an error of its own."""

import msgspec

UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
