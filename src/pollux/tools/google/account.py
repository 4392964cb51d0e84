"""Google as this process has it: the client that connects accounts, and the tools that act with them."""

from pollux.core.frozen import frozen
from pollux.core.tools import Tool
from pollux.tools.google.connection import Connections
from pollux.tools.google.oauth import GoogleOAuth


@frozen
class Google:
    """One client of Google's, for every user of this process."""

    oauth: GoogleOAuth
    connections: Connections
    tools: tuple[Tool, ...]
