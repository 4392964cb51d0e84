"""What the person sees. Answers go to standard output; everything said about them goes to standard error."""

import os
import re
import sys
from contextlib import suppress
from typing import TextIO

from pollux.cli.chat.markdown import Markdown, Plain
from pollux.cli.chat.spinner import Spinner
from pollux.cli.folding import Wrapping, columns_of, folded
from pollux.cli.masking import Mask

_LINES = re.compile(r"[^\n]*\n|[^\n]+")


class Screen:
    """Two streams that may be one terminal: whoever writes leaves the cursor where the other expects it."""

    def __init__(self, mask: Mask, *, spins: bool) -> None:
        self._mask = mask
        self._out, self._talk = sys.stdout, sys.stderr
        for stream in (self._out, self._talk):
            # A terminal that lacks a character still gets to see which one it was.
            _forgiving(stream)
        self._markdown = Markdown() if _has_colour(self._out) else Plain()
        self._wrapping = Wrapping(self._out)
        self._spinner = Spinner(self._talk) if spins and self._talk.isatty() else None
        self._is_fresh = True
        """Whether the next character of an answer begins a line."""

    def answer(self, text: str) -> None:
        """A piece of the answer."""
        for line in _LINES.findall(self._mask.piece(text)):
            self._write(self._in_rows(self._markdown.feed(line)))

    def end_answer(self) -> None:
        """The answer, or this part of it, is complete."""
        self.rest()
        self._write(self._in_rows(self._markdown.feed(self._mask.rest()) + self._markdown.finish()))
        self._write(self._wrapping.finish())
        if not self._is_fresh:
            self._write("\n")

    def tell(self, text: str) -> None:
        """What was asked for by a command: lines on standard output."""
        self.end_answer()
        self._write(f"{self._mask.text(text)}\n")

    def note(self, text: str) -> None:
        """A line about what happens."""
        self.end_answer()
        with suppress(OSError):
            self._talk.write(f"{self._mask.text(text)}\n")
            self._talk.flush()

    def fold(self, text: str) -> None:
        """Text that must not pass for ours: what does not fit in a row goes on indented."""
        self.note(folded(self._mask.text(text), columns_of(self._talk)))

    def wait(self, label: str) -> None:
        """Show that something is under way."""
        if self._spinner is not None and self._is_fresh:
            self._spinner.start(label)

    def rest(self) -> None:
        """Nothing is waited for any more."""
        if self._spinner is not None:
            self._spinner.stop()

    def _in_rows(self, text: str) -> str:
        return self._wrapping.finish() + text if self._markdown.is_code else self._wrapping.feed(text)

    def _write(self, text: str) -> None:
        if text:
            self.rest()
            self._out.write(text)
            self._out.flush()
            self._is_fresh = text.endswith("\n")


def _has_colour(out: TextIO) -> bool:
    return out.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM", "dumb") != "dumb"


def _forgiving(stream: TextIO) -> None:
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")
