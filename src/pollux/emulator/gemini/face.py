"""Answer one Gemini request: read it, ask the demo model, write the answer. Pure: bytes and facts in, an Answer out."""

from typing import Any

from pollux.emulator import sse
from pollux.emulator.answer import Answer
from pollux.emulator.faults import STATUSES, Fault
from pollux.emulator.gemini import catalogue, errors
from pollux.emulator.gemini.answer import Writer, one_line, pretty, token_details
from pollux.emulator.gemini.errors import Refusal
from pollux.emulator.gemini.request import Target, read_ask, read_count
from pollux.emulator.planner.plan import plan
from pollux.emulator.seal import Seal
from pollux.emulator.spoil import spoil

_JSON = "application/json; charset=UTF-8"
_HTML = (
    b"<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n"
    b"</body>\r\n</html>\r\n"
)
_VARY = {"Vary": "Origin, X-Origin, Referer"}


def check_key(key: str | None) -> None:
    """Any key will do, but there must be one. Raises Refusal."""
    if not key:
        raise errors.missing_key()
    if key.startswith("invalid"):
        raise errors.invalid_key()


def answer_json(body: object, *, status: int = 200) -> Answer:
    """A whole JSON answer."""
    return Answer(status, (pretty(body).encode(),), _JSON, headers=dict(_VARY))


def refuse(refusal: Refusal) -> Answer:
    """An error answer."""
    return answer_json(refusal.body(), status=refusal.code)


def answer_fault(fault: Fault | None, *, model: str) -> Answer | None:
    """What a fault puts in place of any answer: a status or a page of HTML."""
    match fault:
        case Fault(kind="html"):
            return Answer(502, (_HTML,), "text/html; charset=UTF-8")
        case Fault(kind="429", options=options):
            per_day = options.get("quota") == "day"
            name = catalogue.base_name(model)
            return refuse(errors.quota(name, retry=options.get("retry"), per_day=per_day))
        case Fault(kind=kind) if kind in STATUSES:
            return refuse(errors.scripted(int(kind)))
        case _:
            return None


def list_models(*, size: int, token: str) -> Answer:
    """One page of models."""
    return answer_json(catalogue.page(size=size, token=token))


def get_model(model: str, *, version: str) -> Answer:
    """One model. Raises Refusal."""
    if not catalogue.is_known(model):
        raise Refusal(404, f"Model is not found: models/{model} for api version {version}")
    return answer_json(catalogue.describe(model))


def answer_call(target: Target, raw: bytes, *, seed: int, as_events: bool, fault: Fault | None) -> Answer:
    """`generateContent`, `streamGenerateContent` or `countTokens`. Raises Refusal."""
    _check_model(target)
    if (scripted := answer_fault(fault, model=target.model)) is not None:
        return scripted
    if target.method == "countTokens":
        text, media = read_count(raw)
        return answer_json({"totalTokens": text + media, "promptTokensDetails": token_details(text, media)})
    ask = read_ask(raw, target)
    writer = Writer(ask, Seal(seed, ask.digest))
    reply = writer.seal.identify(plan(ask))
    reply = spoil(reply, fault) if fault is not None else reply
    if target.method == "generateContent":
        return _whole(writer.whole(reply), fault)
    return _stream(writer.stream(reply), fault, as_events=as_events)


def _check_model(target: Target) -> None:
    if catalogue.is_known(target.model):
        return
    if target.resource is not None:
        raise errors.unknown_vertex_model(target.resource)
    raise errors.unknown_model(target.model, version=target.version, method=target.method)


def _whole(body: dict[str, Any], fault: Fault | None) -> Answer:
    if fault is not None and fault.kind == "stream-error":
        raise errors.scripted(500)
    if fault is not None and fault.kind == "bad-json":
        return Answer(200, (pretty(body)[:-20].encode(),), _JSON)
    return answer_json(body)


def _stream(chunks: list[dict[str, Any]], fault: Fault | None, *, as_events: bool) -> Answer:
    error = errors.scripted(503).body()
    if as_events:
        frames = sse.frames([one_line(chunk) for chunk in chunks], error=one_line(error), fault=fault)
        headers = {"Content-Disposition": "attachment", **_VARY}
        return Answer(200, tuple(frames), "text/event-stream", streamed=True, headers=headers)
    if fault is not None and fault.kind == "stream-error":
        chunks = [*chunks[: fault.number("after", 1)], error]
    pieces = [("[" if at == 0 else ",\r\n") + pretty(chunk) for at, chunk in enumerate(chunks)] + ["]"]
    return Answer(200, tuple(piece.encode() for piece in pieces), _JSON, streamed=True, headers=dict(_VARY))
