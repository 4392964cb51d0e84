"""What the demo model says in words: from results, about itself, and to the few sentences it takes literally."""

import re
from typing import Any

from pollux.emulator import tokens
from pollux.emulator.jsons import compact, is_object
from pollux.emulator.model import LABEL, Ask, Result

_VALUE_KEYS = ("result", "output", "return_value", "content", "text", "value")
_SHOWN = 4_000
_MISSING = re.compile(r"^- (\w+): (.+ Then ask again\.)$", re.MULTILINE)
_WANTED = (("mail", r"mail"), ("calendar", r"calendar|event|invite|meeting|appointment"))
_SAY = re.compile(r"(?:please )?(?:say|repeat|echo)\b(?: exactly| after me)?:?\s+(.+)", re.IGNORECASE | re.DOTALL)


def literal(prompt: str) -> tuple[str, ...] | None:
    """`say X`, `repeat X` and `count to N`, in chunks; None for everything else."""
    asked = prompt.strip()
    if counting := re.fullmatch(r"(?:please )?count (?:from 1 )?to (\d{1,6})[.!]?", asked, re.IGNORECASE):
        last = int(counting[1])
        return tuple(f"{number}\n" if number < last else str(number) for number in range(1, last + 1))
    if saying := re.fullmatch(
        r"(?:please )?(?:say|repeat|echo)\b(?: exactly| after me)?:?\s+(.+)", asked, re.IGNORECASE | re.DOTALL
    ):
        words = saying[1]
        quoted = re.fullmatch(r"\"(.*)\"|“(.*)”|'(.*)'", words, re.DOTALL)
        return tokens.chunks(next(group for group in quoted.groups() if group is not None) if quoted else words)
    return None


def from_results(rounds: tuple[tuple[Result, ...], ...]) -> str:
    """The results, told plainly, in the order they came."""
    return "\n".join(_sentence(result) for results in rounds for result in results)


def about_itself(ask: Ask) -> str:
    """Who it is and what it can do with what was declared."""
    asked = ask.prompt.strip()
    if missing := _unconnected(ask):
        return missing
    lines = [f"I am a {LABEL}: I turn a prompt into calls of the tools I am given, and answer from their results."]
    if ask.attachments:
        shown = ", ".join(f"{one.mime} ({one.size} bytes)" for one in ask.attachments)
        lines.append(f"You sent: {shown}.")
    if re.match(r"(?:hi|hello|hey|good (?:morning|evening|day))\b", asked, re.IGNORECASE):
        lines.insert(0, "Hello!")
    if re.search(r"\bsummar(?:y|i[sz]e)", asked, re.IGNORECASE) and ask.earlier:
        lines.append("So far you said: " + " / ".join(_short(text, 80) for text in ask.earlier))
    lines.append(_offer(ask))
    return " ".join(lines)


def _unconnected(ask: Ask) -> str:
    """What the instructions say of a tool that the user asks for and that an account is missing for."""
    return "\n".join(
        said
        for name, said in _MISSING.findall(ask.system)
        for part, wanted in _WANTED
        if part in name and re.search(wanted, ask.prompt, re.IGNORECASE)
    )


def undeclared(name: str) -> str:
    """Why a call of a tool nobody declared was not made."""
    return f"Unexpected tool call: the model tried to call `{name}`, which is not among the declared functions."


def _offer(ask: Ask) -> str:
    if not ask.tools:
        return "No tools are declared, so I can only talk: try `say something` or `count to 5`."
    listed = "; ".join(
        f"{tool.name}: {_short(tool.description, 60)}" if tool.description else tool.name for tool in ask.tools
    )
    return f"The tools I can call now are {listed}."


def _sentence(result: Result) -> str:
    error = result.response.get("error") if is_object(result.response) else None
    told = _shown(error or result.response)
    if re.search(r"\b(?:rejected|denied|declined)\b", _status(result.response), re.IGNORECASE):
        return f"{result.name} was rejected: {told}"
    if error:
        return f"{result.name} failed: {told}"
    return f"{result.name} returned {told}" if told else f"{result.name} returned nothing"


def _status(response: Any) -> str:
    """Where a rejection is said: never in the ordinary content of a result."""
    if not is_object(response):
        return ""
    said = [response.get(key) for key in ("error", "status", "state", "decision", "code")]
    if is_object(said[0]):
        said += [said[0].get("code"), said[0].get("message")]
    return " ".join(one for one in said if isinstance(one, str)) + (
        " rejected" if response.get("rejected") is True else ""
    )


def _shown(response: Any) -> str:
    value = response
    if is_object(value):
        if not value:
            return ""
        if "message" in value and set(value) <= {"message", "code", "status"}:
            value = value["message"]
        else:
            value = next((value[key] for key in _VALUE_KEYS if len(value) == 1 and key in value), value)
    text = value if isinstance(value, str) else compact(value)
    return _short(text, _SHOWN)


def _short(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[:limit] + "…"
