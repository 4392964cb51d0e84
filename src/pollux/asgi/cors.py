"""What a page of a site that was not named is told when it asks for its first token: why it gets none.

A browser hides every answer that does not name the page's origin, so a site's owner who forgot to name it would see a
connection that breaks. What is told here is that refusal and nothing else: no cookie counts, no token is given.
"""

import re
from collections.abc import Mapping
from typing import Final

from pollux.asgi.errors import HttpError

SESSION: Final = "/api/page/session"
"""Where every page begins. Nothing else tells pages of other sites anything."""
PREFLIGHT: Final = {
    "access-control-allow-methods": "POST",
    "access-control-allow-headers": "authorization, content-type",
}
"""What lets a browser ask, so that it hears the refusal. Not to be remembered: the owner may mend it at any moment."""

_ORIGIN: Final = re.compile(r"https?://(?:[a-z0-9._-]{1,253}|\[[0-9a-f:.]{2,45}\])(?::[0-9]{1,5})?")


class BadOrigin(HttpError):
    """A page of another origin asked for what is not meant for it."""

    def __init__(self, origin: str) -> None:
        super().__init__(403, "bad_origin", "requests from pages of other origins are refused")
        self.origin = origin

    @property
    def told(self) -> HttpError | None:
        """The same in words for the site's owner, and so that the page may read it; None for what no browser sends."""
        if self.origin == "null":
            said = "a page without an origin, such as a file or a sandboxed frame, may not talk to this agent. Serve it"
        elif _ORIGIN.fullmatch(self.origin):
            said = (
                f"pages of {self.origin} may not talk to this agent. To let them, add them to the server's "
                f'configuration: [page] origins = ["{self.origin}"]'
            )
        else:
            return None
        return HttpError(403, self.code, said, headers=self.readable)

    @property
    def readable(self) -> Mapping[str, str]:
        """What lets the page that asked read an answer, without anything that its visitor holds."""
        return {"access-control-allow-origin": self.origin, "vary": "origin"}
