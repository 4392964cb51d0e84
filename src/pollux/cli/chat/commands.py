"""What begins with a slash. Each command says what it did, and changes nothing where it fails."""

import difflib
import re
from datetime import datetime
from typing import TYPE_CHECKING, Final

from pollux.cli.chat.conversation import Conversation
from pollux.cli.shown import shown
from pollux.core.errors import ValidationError

if TYPE_CHECKING:
    from pollux.sdk.session_info import SessionInfo

COMMANDS: Final = {
    "help": "what can be typed here",
    "model": "which model answers; /model NAME asks another from now on",
    "tools": "what the model may call",
    "sessions": "the sessions of this directory; /sessions NUMBER goes on with one",
    "compress": "have the older part summarised before the next answer",
    "cost": "what this session has used",
    "undo": "take the last prompt and its answer back",
    "quit": "leave, as Ctrl-D does",
}
KEYS: Final = (
    ("Enter", "sends"),
    ("Alt-Enter", "begins a line, and so does a backslash at the end of one"),
    ("Ctrl-C", "stops an answer; at the prompt it clears the line, and twice leaves"),
    ("Ctrl-D", "leaves"),
)
LISTED: Final = 20

_FORM = re.compile(r"/([A-Za-z]+|\?)(?:[ \t]+(.*))?")


def command_of(words: str) -> tuple[str, str] | None:
    """The command and what follows it; None for words that are meant for the model, paths among them."""
    found = _FORM.fullmatch(words.strip())
    if found is None:
        return None
    name = {"?": "help", "exit": "quit"}.get(found[1].lower(), found[1].lower())
    return name, (found[2] or "").strip()


class Commands:
    """The commands of one conversation."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._listed: list[SessionInfo] = []

    async def run(self, name: str, rest: str) -> str:
        """What the command has to say. Raises PolluxError."""
        match name:
            case "help":
                return _help()
            case "model":
                return await self._model(rest)
            case "tools":
                return self._tools()
            case "sessions":
                return await (self._go_to(rest) if rest else self._sessions())
            case "compress":
                await self._conversation.summarise_next()
                return "The older part will be summarised before the next answer."
            case "cost":
                return await self._cost()
            case "undo":
                return await self._undo()
            case _:
                raise ValidationError(_unknown(name))

    async def _model(self, name: str) -> str:
        if not name:
            return self._conversation.model
        await self._conversation.use_model(name)
        return f"{shown(name, lines=False)} answers from now on."

    def _tools(self) -> str:
        rows: list[str] = []
        for tool in self._conversation.agent.tools:
            asks = " (asks first, unless a rule says otherwise)" if tool.spec.default_approval == "required" else ""
            rows.append(f"{tool.spec.name}{asks}\n    {shown(_first_sentence(tool.spec.description), lines=False)}")
        return "\n".join(rows)

    async def _sessions(self) -> str:
        self._listed = await self._conversation.listed(LISTED)
        if not self._listed:
            return "There are no sessions of this directory yet."
        current = self._conversation.agent.session_id
        rows = [_row(number, info, info.session_id == current) for number, info in enumerate(self._listed, 1)]
        return "\n".join([*rows, "/sessions NUMBER goes on with one."])

    async def _go_to(self, number: str) -> str:
        listed = self._listed or await self._conversation.listed(LISTED)
        if not number.isascii() or not number.isdigit() or not 1 <= int(number) <= len(listed):
            raise ValidationError(
                f"expected a number from 1 to {len(listed)} as /sessions lists them, found {number!r}"
            )
        info = listed[int(number) - 1]
        await self._conversation.go_to(info.session_id)
        return f"Session {shown(info.session_id)}: {_title(info)}"

    async def _cost(self) -> str:
        spent = await self._conversation.agent.usage()
        usage = spent.usage
        price = "the price is not known" if spent.cost is None else f"${spent.cost:.4f}"
        cached = f" ({usage.cached:,} of them cached)" if usage.cached else ""
        return f"{usage.input:,} tokens in{cached}, {usage.output:,} out: {price}"

    async def _undo(self) -> str:
        undone = await self._conversation.undo()
        said = shown(" ".join(undone.prompt.split()), lines=False)
        return f"Taken back: {said[:60]}\n{undone.messages} messages are left. The session with it stays in /sessions."


def _help() -> str:
    commands = [f"  /{name:<10} {meaning}" for name, meaning in COMMANDS.items()]
    keys = [f"  {name:<11} {meaning}" for name, meaning in KEYS]
    return "\n".join([*commands, "", *keys])


def _unknown(name: str) -> str:
    near = difflib.get_close_matches(name, COMMANDS, n=1)
    hint = f"Did you mean /{near[0]}? " if near else ""
    return (
        f"there is no command /{name}. {hint}/help lists them. To ask the model, begin with something else than a slash"
    )


def _row(number: int, info: "SessionInfo", is_current: bool) -> str:
    mark = "*" if is_current else " "
    moment = datetime.fromisoformat(info.last_updated).astimezone().strftime("%Y-%m-%d %H:%M")
    return f"{mark}{number:>3}  {moment}  {info.message_count:>3} messages  {_title(info)}"


def _title(info: "SessionInfo") -> str:
    return shown(" ".join((info.summary or "(no title)").split()), lines=False)[:60]


def _first_sentence(text: str) -> str:
    return " ".join(text.split()).split(". ")[0].removesuffix(".")
