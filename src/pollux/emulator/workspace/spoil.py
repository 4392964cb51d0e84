"""What a fault makes of an answer: other words in its place, or a journey that breaks off."""

from dataclasses import replace

from pollux.emulator.answer import Answer
from pollux.emulator.faults import Fault
from pollux.emulator.workspace import api, oauth, refusal
from pollux.emulator.workspace.scopes import Method

_HTML = (b"<!doctype html><title>Sign in to the network</title><p>Please sign in to go on.",)


def said(fault: Fault, method: Method | None) -> Answer | None:
    """What a fault says in place of the answer, in the form of whoever was asked; None when it says nothing."""
    if fault.kind == "html":
        return Answer(200, _HTML, "text/html; charset=utf-8")
    if fault.kind in ("slow", "lost", "half"):
        return None
    if method is None or fault.kind == "invalid-grant":
        refused = oauth.of_fault(fault.kind)
        answer = api.in_json(refused.body, status=refused.status)
        retry = {"Retry-After": fault.options["retry"]} if "retry" in fault.options else {}
        return replace(answer, headers={**answer.headers, **retry})
    words = refusal.of_fault(fault.kind, scopes=method.scopes, retry=fault.number("retry", 0))
    return api.refuse(words, method=method.id)


def has_effect(fault: Fault) -> bool:
    """Does what was asked happen, although the answer says otherwise?"""
    return fault.options.get("effect") == "yes"


def broken(answer: Answer, fault: Fault | None) -> Fault | None:
    """How the answer travels, in the transport's words."""
    match fault.kind if fault else "":
        case "lost" | "lost-before":
            return Fault("reset")
        case "half":
            return Fault("truncated", {"after": "0"}) if answer.frames else Fault("reset")
        case _:
            return None
