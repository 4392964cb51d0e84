"""Every route of the runtime, a row each."""

from typing import Final

from pollux._version import __version__
from pollux.asgi.endpoint import Call, Endpoint
from pollux.asgi.errors import HttpError
from pollux.asgi.ndjson import NDJSON, SSE
from pollux.asgi.shapes import PageQuery
from pollux.http import attachments, audit, browser, google, journal, lists, overview, records, threads, verbs
from pollux.http import overview_shapes as o
from pollux.http import shapes as s
from pollux.http.runtime import READY_SECONDS, Runtime


async def healthy(runtime: Runtime, call: Call) -> s.Health:
    """This process lives."""
    return s.Health(status="alive", version=__version__)


async def ready(runtime: Runtime, call: Call) -> s.Health:
    """This process takes work: its store takes writes, and it is not on its way out."""
    if runtime.engine.is_draining:
        raise HttpError(503, "draining", "this process is stopping", headers={"retry-after": "1"})
    await runtime.engine.check_store(READY_SECONDS)
    return s.Health(status="ready", version=__version__)


KEY = ("Idempotency-Key",)
ENDPOINTS: Final = (
    Endpoint(method="POST", path="/api/agent/run", handler=verbs.run, body=s.RunBody, returns=s.RunView,
             largest=attachments.LARGEST_BODY, errors=(404, 409, 503), headers=KEY,
             summary="Begin a run, and answer when nothing is owed"),
    Endpoint(method="POST", path="/api/agent/run/stream", handler=verbs.stream, body=s.RunBody, media_type=NDJSON,
             largest=attachments.LARGEST_BODY, errors=(404, 409, 503), headers=KEY,
             summary="Begin a run, told line by line as it happens"),
    Endpoint(method="GET", path="/api/agent/approvals/pending", handler=lists.pending, query=s.PendingQuery,
             returns=s.PendingPage, summary="What waits for a person, newest first"),
    Endpoint(method="POST", path="/api/agent/approvals/resolve", handler=verbs.resolve, body=s.ResolveBody,
             query=s.WaitQuery, returns=s.Resolved, errors=(404, 409, 503), summary="Answer an approval"),
    # After those of fixed names, which it would match as well.
    Endpoint(method="GET", path="/api/agent/approvals/{id}", handler=lists.approval, returns=s.PendingAnswer,
             errors=(404,), summary="One question that waits, whole"),
    Endpoint(method="POST", path="/api/agent/approvals/{id}/edit", handler=verbs.edit, body=s.EditBody, status=201,
             returns=s.Edited, errors=(404, 409, 503), summary="Ask about other arguments instead"),
    Endpoint(method="GET", path="/api/agent/threads", handler=threads.listed, query=PageQuery, returns=s.ThreadPage,
             summary="Conversations, last changed first"),
    Endpoint(method="GET", path="/api/agent/threads/{id}", handler=threads.shown, returns=s.ThreadAnswer, errors=(404,),
             summary="One conversation"),
    Endpoint(method="PATCH", path="/api/agent/threads/{id}", handler=threads.renamed, body=s.RenameBody,
             returns=s.ThreadAnswer, errors=(404, 409), summary="Give it another title"),
    Endpoint(method="DELETE", path="/api/agent/threads/{id}", handler=threads.erased, returns=s.Done, errors=(404, 409),
             summary="Erase what was said and done; the audit stays"),
    Endpoint(method="GET", path="/api/agent/threads/{id}/messages", handler=threads.messages, query=PageQuery,
             returns=s.MessagePage, errors=(404,), summary="Its messages; `next` leads to earlier ones"),
    Endpoint(method="GET", path="/api/agent/threads/{id}/attachments/{attachment}", handler=attachments.attachment,
             media_type=attachments.ANY, also=attachments.INLINE, errors=(404,),
             summary="The bytes of a file that came with a message"),
    Endpoint(method="GET", path="/api/agent/runs", handler=lists.runs, query=s.RunsQuery, returns=s.RunPage,
             summary="Runs, newest first"),
    Endpoint(method="GET", path="/api/agent/runs/{id}", handler=lists.run, returns=s.RunView, errors=(404,),
             summary="One run"),
    Endpoint(method="GET", path="/api/agent/runs/{id}/events", handler=journal.events, query=s.EventsQuery,
             media_type=NDJSON, also=SSE, errors=(404, 503), headers=("Last-Event-ID",),
             summary="Its journal after a number, then what happens; server-sent events where they are accepted"),
    Endpoint(method="POST", path="/api/agent/runs/{id}/cancel", handler=verbs.cancelled, query=s.WaitQuery,
             returns=s.RunView, errors=(404, 409), summary="Stop a run"),
    Endpoint(method="GET", path="/api/agent/actions", handler=overview.unknown, query=PageQuery,
             returns=o.UnknownPage, summary="Actions of which nobody knows whether they happened, newest first"),
    Endpoint(method="POST", path="/api/agent/actions/{id}/settle", handler=verbs.settle, body=s.SettleBody,
             returns=s.RunView, errors=(404, 409), summary="Say what became of an action whose outcome was unknown"),
    Endpoint(method="GET", path="/api/agent/grants", handler=records.grants, query=PageQuery, returns=s.GrantPage,
             summary="What was always allowed"),
    Endpoint(method="DELETE", path="/api/agent/grants/{id}", handler=records.revoked, returns=s.Done, errors=(404,),
             summary="Take a grant back"),
    Endpoint(method="GET", path="/api/agent/audit", handler=audit.audit, query=o.AuditQuery, returns=s.AuditPage,
             summary="What was decided, asked and done, newest first"),
    Endpoint(method="GET", path="/api/agent/audit/export", handler=audit.exported, query=o.ExportQuery,
             media_type=audit.JSONL, also=audit.CSV, summary="All of it as a file, oldest first"),
    Endpoint(method="GET", path="/api/agent/audit/verify", handler=audit.verify, returns=s.AuditVerified,
             summary="Whether the audit is as it was written"),
    Endpoint(method="GET", path="/api/agent/audit/head", handler=audit.head, returns=s.AuditHead,
             summary="For the operator: the hash of the last entry, to be kept elsewhere"),
    Endpoint(method="GET", path="/api/agent/usage", handler=overview.usage, query=o.UsageQuery, returns=o.UsageDays,
             summary="Tokens and costs by day and model"),
    Endpoint(method="GET", path="/api/health", handler=overview.health, returns=o.HealthView,
             summary="How this server is, and what waits"),
    Endpoint(method="GET", path="/api/session", handler=browser.session, returns=s.SessionView,
             summary="Who is signed in, and the value for the CSRF header"),
    Endpoint(method="POST", path="/api/session/sign-in", handler=browser.sign_in, body=s.SignInBody,
             returns=s.SessionView, public=True, errors=(401, 503), summary="Exchange a token for a browser's session"),
    Endpoint(method="POST", path="/api/session/sign-out", handler=browser.sign_out, returns=s.Done,
             summary="End a browser's session"),
    Endpoint(method="GET", path="/api/sessions", handler=browser.sessions, returns=s.SessionList,
             summary="The browsers in which the caller is signed in, newest first"),
    Endpoint(method="DELETE", path="/api/sessions/{id}", handler=browser.revoke, returns=s.Done, errors=(404,),
             summary="Sign one of them out"),
    Endpoint(method="GET", path="/api/google/connect", handler=google.connect, query=s.ConnectQuery, moves=302,
             returns=s.ConnectView, summary="Connect a Google account: on to Google, or where to go as JSON"),
    Endpoint(method="GET", path="/api/google/callback", handler=google.callback, query=s.CallbackQuery, public=True,
             returns=s.Connected, also="text/html", errors=(401, 403, 503),
             summary="Where Google sends the browser back to"),
    Endpoint(method="GET", path="/api/google/status", handler=google.status, returns=s.GoogleStatus,
             summary="Whether a Google account is connected, and what it grants"),
    Endpoint(method="POST", path="/api/google/disconnect", handler=google.disconnect, returns=s.Disconnected,
             errors=(503,), summary="Give the access to a Google account back"),
    Endpoint(method="GET", path="/login", handler=browser.link, query=s.TokenQuery, media_type="text/html", moves=303,
             public=True, errors=(401, 503), summary="A login link: a page that asks whether to sign in"),
    Endpoint(method="POST", path="/login", handler=browser.link_confirmed, body=s.SignInBody, form=True, status=303,
             public=True, returns=s.SessionView, errors=(401, 503), summary="The button of that page"),
    Endpoint(method="GET", path="/", handler=browser.welcome, media_type="text/html", public=True,
             summary="A page for people"),
    Endpoint(method="GET", path="/healthz", handler=healthy, returns=s.Health, public=True,
             summary="Whether this process lives"),
    Endpoint(method="GET", path="/readyz", handler=ready, returns=s.Health, public=True, errors=(503,),
             summary="Whether this process takes work"),
)  # fmt: skip
