"""A page that the agent works in, as it was at one moment."""

from typing import Final

from pollux.core.frozen import frozen
from pollux.core.tools import ToolSpec

PAGE: Final = "page"
"""The interface through which pages talk."""


@frozen
class Page:
    """What the model is told of a page, and the tools that the page brings. They run there, not here."""

    told: str = ""
    """In place of the profile's instructions: it holds what the page shows, and changes with it."""
    tools: tuple[ToolSpec, ...] = ()
    private: tuple[str, ...] = ()
    """The references of controls that hold the visitor's secrets: nothing is filled in there unasked."""
    consequential: tuple[str, ...] = ()
    """Those whose press has consequences beyond the page: nothing is done to them unasked."""
    sending: tuple[str, ...] = ()
    """Those of fields in which Enter presses one of these."""
    names: tuple[tuple[str, str], ...] = ()
    """What the page calls those controls: a reference, and the words that the visitor knows."""
