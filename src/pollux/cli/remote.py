"""What a person tells a server: the same verbs, by HTTP, for those who are elsewhere or do not share its store.

Approvals are listed, shown and answered; an action whose outcome is unknown is settled.
"""

import argparse
import json
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from pollux.cli.kept import Teller, subject_lines
from pollux.config import ConfigError, Settings
from pollux.core.errors import PolluxError
from pollux.engine.untrusted import read_file

if TYPE_CHECKING:
    from pollux.core.redact import Secret

WAIT_SECONDS = 30
PATIENCE = WAIT_SECONDS + 15
PREVIEW_LENGTH = 300
LARGEST_TOKEN = 4096
CODES = {"completed": 0, "awaiting_confirmation": 3}


def answer_remotely(arguments: argparse.Namespace, settings: Settings) -> int:
    """Do what was asked on the server that was named; the result is the exit code."""
    server, teller = Server(arguments.server, _token(settings)), Teller(settings)
    try:
        match arguments.verb:
            case "list":
                return _list(server, arguments, teller)
            case "show":
                return _show(server, arguments, teller)
            case _:
                return _resolve(server, arguments, teller)
    except PolluxError as problem:
        if arguments.verb in ("approve", "reject") and problem.code not in ("usage", "config"):
            # As for an answer that is given here: programs read why.
            teller.raw(json.dumps({"type": "error", "error": str(problem), "code": problem.code}) + "\n")
        raise


def settle_remotely(arguments: argparse.Namespace, settings: Settings) -> int:
    """Say on the server that was named what became of an action; the result is the exit code."""
    server, teller = Server(arguments.server, _token(settings)), Teller(settings)
    run = server.ask(f"/api/agent/actions/{quote(arguments.id, safe='')}/settle", {"outcome": arguments.outcome})
    action = next((each for each in run.get("actions", ()) if each["id"] == arguments.id), None)
    if action is None:
        raise _strange(None)
    if arguments.json:
        teller.document({**action, "runId": run["runId"], "threadId": run["threadId"]})
    else:
        # Of what went well it tells no message.
        said = teller.line(action.get("message") or "settled as done")
        teller.lines([f"{arguments.id}  {teller.line(action['tool'])}, {teller.line(action['state'])}: {said}"])
    return 0


class Server:
    """A `pollux serve` somewhere."""

    def __init__(self, url: str, token: "Secret") -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
            raise ConfigError("--server must be an address such as http://127.0.0.1:8642", code="usage")
        self._url = url.rstrip("/")
        self._token = token
        # A token is for this server alone: whoever it points to does not get it.
        self._opener = build_opener(_NoRedirects())

    def ask(self, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """The answer. Raises PolluxError with the server's own code and words."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self._token.reveal()}", "Content-Type": "application/json"}
        try:
            with self._opener.open(Request(self._url + path, data, headers), timeout=PATIENCE) as answer:
                return _object(answer.read())
        except HTTPError as refused:
            with refused:
                error: Any = _object(refused.read()).get("error")
            if not isinstance(error, dict) or not {"message", "code"} <= error.keys():
                raise _strange(refused.status) from None
            raise PolluxError(str(error["message"]), code=str(error["code"])) from None  # pyright: ignore[reportUnknownArgumentType]
        except (URLError, OSError, HTTPException) as problem:
            reason = getattr(problem, "reason", None) or problem
            said = getattr(reason, "strerror", None) or reason
            message = f"{self._url} cannot be reached ({said}). Is `pollux serve` running there?"
            raise PolluxError(message, code="unreachable") from None


def _list(server: Server, arguments: argparse.Namespace, teller: Teller) -> int:
    items: list[dict[str, Any]] = []
    before = ""
    while len(items) < arguments.limit:
        page = server.ask(f"/api/agent/approvals/pending?limit={min(25, arguments.limit - len(items))}{before}")
        items += page["items"]
        if page["next"] is None:
            break
        before = f"&before={quote(page['next'], safe='')}"
    nothing = "nothing waits for approval there"
    teller.items(items, as_json=arguments.json, document=lambda item: item, lines=_brief, nothing=nothing)
    return 0


def _show(server: Server, arguments: argparse.Namespace, teller: Teller) -> int:
    item = server.ask(f"/api/agent/approvals/{quote(arguments.id, safe='')}")["approval"]
    if arguments.json:
        teller.document(item)
    else:
        teller.lines(_whole(item, teller))
    return 0


def _resolve(server: Server, arguments: argparse.Namespace, teller: Teller) -> int:
    decision = "reject"
    if arguments.verb == "approve":
        decision = "approve_and_always_allow_recipient" if arguments.always else "approve_once"
    body = {"approvalId": arguments.id, "decision": decision, "feedback": getattr(arguments, "feedback", "")}
    run = server.ask(f"/api/agent/approvals/resolve?wait={WAIT_SECONDS}", body)["run"]
    if arguments.output_format == "text":
        teller.lines([teller.block(run["summary"])])
    else:
        line = {
            "type": "result",
            "result": run["summary"],
            "status": run["status"],
            "runId": run["runId"],
            "sessionId": run["threadId"],
            "usage": run["usage"],
            **{name: run[name] for name in ("finishReason", "incomplete", "cut") if name in run},
        }
        teller.raw(json.dumps(teller.mask.value(line), ensure_ascii=False) + "\n")
    if run["state"] not in ("completed", "failed", "cancelled", "awaiting_confirmation"):
        teller.talk(f"the run goes on there: {run['runId']} is {run['state']}")
        return 0
    if run.get("errorCode") == "outcome_unknown":
        return 4
    return CODES.get(run["status"], 1)


def _brief(item: dict[str, Any], teller: Teller) -> list[str]:
    lines = [f"{teller.line(item['id'])}  {teller.line(item['tool'])}, until {teller.line(item['expiresAt'])}"]
    lines += subject_lines(item["subjects"], teller)
    return [*lines, f"    {teller.line(item['preview'], most=PREVIEW_LENGTH)}"]


def _whole(item: dict[str, Any], teller: Teller) -> list[str]:
    """As the server has stored it: what is shown is what will run."""
    return [
        f"{teller.line(item['id'])}  pending",
        f"tool        {teller.line(item['tool'])}",
        *(f"to          {teller.line(subject)}" for subject in item["subjects"]),
        "arguments   exactly as they will run:",
        *(f"    {teller.line(name)}: {teller.value(value)}" for name, value in item["args"].items()),
        f"hash        {teller.line(item['argsHash'])}",
        f"preview     {teller.line(item['preview'])}",
        f"reason      {teller.line(item['reason'])}",
        *(f"words from  {teller.line(source)}" for source in item["provenance"]),
        f"asked       {teller.line(item['createdAt'])}",
        f"expires     {teller.line(item['expiresAt'])}",
        f"run         {teller.line(item['runId'])}",
        f"session     {teller.line(item['threadId'])}",
    ]


def _token(settings: Settings) -> "Secret":
    from pollux.core.redact import Secret

    if settings.token is not None:
        return settings.token
    path: Path = settings.home / "token"
    try:
        if (token := read_file(path, most=LARGEST_TOKEN)) is not None:
            return Secret(token.decode().strip())
    except (OSError, UnicodeDecodeError):
        pass
    raise ConfigError(f"--server needs a token. Set POLLUX_TOKEN; {path} holds none")


def _object(content: bytes) -> dict[str, Any]:
    try:
        found = json.loads(content)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise _strange(None)
    return found  # pyright: ignore[reportUnknownVariableType]


def _strange(status: int | None) -> PolluxError:
    said = f" (HTTP {status})" if status else ""
    return PolluxError(f"the answer is not one of `pollux serve`{said}. Check --server", code="unreachable")


class _NoRedirects(HTTPRedirectHandler):
    def redirect_request(self, *_: object, **__: object) -> None:
        return None
