"""The consent page: who asks for what, and Allow or Deny.

Law: nothing is sent to an address that was not checked first. Until client and redirect are known to be good, an error
is a page here, never a redirect.
"""

import re
from collections.abc import Mapping
from html import escape
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from pollux.core.frozen import frozen
from pollux.emulator.answer import Answer
from pollux.emulator.workspace.grants import Consent, Grants
from pollux.emulator.workspace.page import page
from pollux.emulator.workspace.scopes import IDENTITY, LONG, WORDS, known

ACCOUNT = "demo@example.com"
PATH = "/o/oauth2/v2/auth"
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_ADDRESS = re.compile(r"[^\s@<>,;:\"()]+@[^\s@<>,;:\"()]+")


@frozen(kw_only=True)
class Asked:
    """What a client asks a person for."""

    client: str
    redirect: str
    scopes: tuple[str, ...]
    state: str
    challenge: str
    hint: str
    prompt: str
    offline: bool
    united: bool
    nonce: str


class BadRequest(Exception):
    """A request that no person should be asked about. The page says why."""

    def __init__(self, error: str, words: str, *, status: int = 400) -> None:
        super().__init__(words)
        self.error, self.status = error, status


def read(query: Mapping[str, str]) -> Asked:
    """What is asked for. Raises BadRequest."""
    client, redirect = query.get("client_id", ""), query.get("redirect_uri", "")
    if not client:
        raise BadRequest("invalid_request", "Missing required parameter: client_id")
    if client.startswith("invalid"):
        raise BadRequest("invalid_client", "The OAuth client was not found.", status=401)
    _check_redirect(redirect)
    if query.get("response_type") != "code":
        raise BadRequest("unsupported_response_type", f"response_type must be code, not {query.get('response_type')!r}")
    scopes = tuple(dict.fromkeys(LONG.get(scope, scope) for scope in query.get("scope", "").split()))
    if not scopes:
        raise BadRequest("invalid_request", "Missing required parameter: scope")
    if unknown := [scope for scope in scopes if not known(scope)]:
        raise BadRequest("invalid_scope", f"Some requested scopes were invalid: {', '.join(unknown)}")
    # Google does without these two; a client that leaves them out is open to forgery, so here they are wanted.
    if not query.get("state"):
        raise BadRequest("invalid_request", "Missing parameter: state (this emulator insists on it)")
    if query.get("code_challenge_method") != "S256" or not re.fullmatch(
        r"[A-Za-z0-9_-]{43}", query.get("code_challenge", "")
    ):
        raise BadRequest("invalid_request", "code_challenge must be there, with code_challenge_method=S256")
    return Asked(
        client=client,
        redirect=redirect,
        scopes=scopes,
        state=query["state"],
        challenge=query["code_challenge"],
        hint=query.get("login_hint", ""),
        prompt=query.get("prompt", ""),
        offline=query.get("access_type") == "offline",
        united=query.get("include_granted_scopes") == "true",
        nonce=query.get("nonce", ""),
    )


def show(asked: Asked, query: str) -> Answer:
    """The page that asks."""
    if "none" in asked.prompt.split():
        return _leave(asked, {"error": "interaction_required"})
    account = asked.hint if _ADDRESS.fullmatch(asked.hint) else ACCOUNT
    always = [IDENTITY[scope] for scope in asked.scopes if scope in IDENTITY]
    choices = "".join(_choice(scope) for scope in asked.scopes if scope not in IDENTITY)
    who = f"<p>Signing in lets it {escape(' and '.join(always))}.</p>" if always else ""
    body = (
        f"<p><strong>{escape(asked.client)}</strong> wants to use a Google account.</p>"
        f'<p class="dim">The answer goes to <code>{escape(asked.redirect)}</code></p>'
        f'<form method="post" action="{PATH}?{escape(query)}">'
        '<label for="account">Account (any address will do)</label>'
        f'<input id="account" name="account" type="email" required value="{escape(account)}">'
        f'{who}<fieldset class="box"><legend>It wants to</legend>{choices or "<p>Nothing else.</p>"}</fieldset>'
        '<div class="buttons"><button name="decision" value="allow">Allow</button>'
        '<button name="decision" value="deny" formnovalidate>Deny</button></div></form>'
    )
    # A browser holds a form to this list on every hop, so the place the answer goes to must be on it.
    return page("Allow access?", body, forms=f"'self' {_origin(asked.redirect)}")


def decided(asked: Asked, form: Mapping[str, list[str]]) -> tuple[str, frozenset[str]]:
    """The account and the scopes it allows; none of them is a no. Raises BadRequest."""
    if form.get("decision") != ["allow"]:
        return "", frozenset()
    account = form.get("account", [""])[-1].strip().lower()
    if not _ADDRESS.fullmatch(account):
        raise BadRequest("invalid_request", f"{account!r} is no address of an account")
    ticked = set(form.get("scope", []))
    allowed = frozenset(scope for scope in asked.scopes if scope in IDENTITY or scope in ticked)
    return account, allowed


def leave(asked: Asked, grants: Grants, *, account: str, scopes: frozenset[str]) -> Answer:
    """Send the person back to the client with a code for these scopes; without one when there are none."""
    if not scopes:
        return _leave(asked, {"error": "access_denied"})
    code = grants.code(
        Consent(
            client=asked.client,
            account=account,
            redirect=asked.redirect,
            scopes=scopes,
            challenge=asked.challenge,
            offline=asked.offline,
            prompted="consent" in asked.prompt.split(),
            united=asked.united,
            nonce=asked.nonce,
        )
    )
    before = grants.grants.get((asked.client, account))
    told = scopes | before.scopes if before and asked.united else scopes
    return _leave(asked, {"code": code, "scope": " ".join(sorted(told)), "authuser": "0", "prompt": "consent"})


def refuse(error: BadRequest) -> Answer:
    """The page that says why nobody is asked."""
    body = f'<p>{escape(str(error))}</p><p class="dim">Error {error.status}: {escape(error.error)}</p>'
    return page("Access blocked", body, status=error.status)


def _choice(scope: str) -> str:
    return (
        f'<label class="check"><input type="checkbox" name="scope" value="{escape(scope)}" checked>'
        f'<span>{escape(WORDS[scope])}<br><code class="dim">{escape(scope)}</code></span></label>'
    )


def _check_redirect(redirect: str) -> None:
    try:
        parts = urlsplit(redirect)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host, parts = None, urlsplit("")
    if not redirect:
        raise BadRequest("invalid_request", "Missing required parameter: redirect_uri")
    if not host or parts.fragment or parts.username is not None or re.search(r"[\s\x00-\x1f;,'\"<>\\]", redirect):
        raise BadRequest("redirect_uri_mismatch", "redirect_uri must be a whole address, without user or fragment")
    if parts.scheme != "https" and not (parts.scheme == "http" and host in _LOOPBACK):
        raise BadRequest("redirect_uri_mismatch", "redirect_uri must be https, or http on this machine")


def _origin(redirect: str) -> str:
    parts = urlsplit(redirect)
    return f"{parts.scheme}://{parts.netloc}"


def _leave(asked: Asked, said: dict[str, str]) -> Answer:
    parts = urlsplit(asked.redirect)
    query = urlencode([*parse_qsl(parts.query, keep_blank_values=True), ("state", asked.state), *said.items()])
    headers = {"Location": urlunsplit(parts._replace(query=query)), "Cache-Control": "no-store"}
    return Answer(302, (b"",), "text/html; charset=utf-8", headers=headers)
