"""One template and what it may see, put together by MiniJinja. Used here for simple templates, and by the worker.

The same environment as Atuin's: names must exist, a newline behind a tag is dropped, nothing is loaded or included.
What is put in is data: it is never rendered again.
"""

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pollux.core.errors import PolluxError
from pollux.runbooks.templates.values import ABSENT, Log, Output, Row, Tree, Unusable, shown

if TYPE_CHECKING:
    from minijinja import Environment

FUEL: Final = 1_000_000
"""Steps of the engine. A loop over ten thousand rows takes some two hundred thousand."""
OUTPUT_LIMIT: Final = 1 << 20

Payload = dict[str, Any]
"""What a template sees, as JSON: blocks, the one before, variables and environment with their sources, workspace."""


class Filled(NamedTuple):
    """A rendered text and the blocks whose outputs are in it; or what went wrong, on which line of the template."""

    text: str
    sources: tuple[str, ...]
    problem: str = ""
    line: int = 0


def fill(template: str, payload: Payload) -> Filled:
    """Render it. What is wrong with the template is in the answer."""
    try:
        from minijinja import TemplateError
    except ImportError:
        raise missing() from None
    log = Log()
    try:
        text = _environment().render_str(template, **_context(payload, log))
    except TemplateError as problem:
        return Filled("", (), _words(problem, log), problem.line or 0)
    except (AttributeError, TypeError) as problem:
        # A method that our values do not have.
        return Filled("", (), f"{problem}. Values have no methods; use a filter such as `| length`")
    except Unusable as problem:
        return Filled("", (), str(problem))
    if len(text) > OUTPUT_LIMIT or len(text.encode("utf-8", "replace")) > OUTPUT_LIMIT:
        return Filled("", (), f"it gives more than {OUTPUT_LIMIT:,} bytes of text")
    return Filled(text, tuple(sorted(log.sources)))


def missing() -> PolluxError:
    """What to raise where MiniJinja is not installed."""
    return PolluxError("templates need a package that is missing: pip install minijinja")


@lru_cache(maxsize=1)
def _environment() -> "Environment":
    from minijinja import Environment

    environment = Environment(
        filters={"shellquote": shellquote, "default": default, "d": default},
        tests={"none": is_nothing},
        fuel=FUEL,
        undefined_behavior="strict",
        trim_blocks=True,
        finalizer=shown,
        pycompat=False,
    )
    environment.remove_global("debug")
    return environment


def is_nothing(value: object = None) -> bool:
    """Whether there is no value. What is undefined comes as None."""
    return value is None or value is ABSENT


def default(value: object = None, other: object = "", is_for_falsy: object = False) -> object:
    """The value, or the other one where there is none; with a third argument also for an empty one."""
    return other if is_nothing(value) or (is_for_falsy and not value) else value


def shellquote(value: object) -> str:
    """The value as one word of a POSIX shell, whatever is in it."""
    if is_nothing(value):
        # Also what is undefined comes here as None, and `'none'` in a command is what nobody meant.
        raise Unusable("`shellquote` needs a value, found none. Use `| default('…')` before it, or correct the name")
    quoted = str(shown(value)).replace("'", "'\\''")
    return f"'{quoted}'"


def _context(payload: Payload, log: Log) -> dict[str, Any]:
    blocks = [_block(block, log, f"doc.content[{index}]") for index, block in enumerate(payload["blocks"])]
    named = {
        block["name"]: _block(block, log, f"doc.named[{block['name']!r}]")
        for block in payload["blocks"]
        if block["name"] is not None
    }
    doc: dict[str, Any] = {"content": Row(blocks, log, "doc.content"), "named": Tree(named, log, "doc.named")}
    if blocks:
        doc |= {"first": blocks[0], "last": blocks[-1]}
    if (previous := payload["previous"]) is not None:
        doc["previous"] = _block(payload["blocks"][previous], log, "doc.previous")
    return {
        "doc": Tree(doc, log, "doc"),
        "var": _sourced(payload["var"], log, "var"),
        "env": _sourced(payload["env"], log, "env"),
        "workspace": Tree(payload["workspace"], log, "workspace"),
    }


def _block(block: dict[str, Any], log: Log, path: str) -> Tree:
    values = {key: value for key, value in block.items() if key not in ("output", "may_lack")}
    if "output" in block:
        values["output"] = Output(block["output"], log, f"{path}.output")
        if block["may_lack"]:
            log.lacking.add(f"{path}.output")

    def noted(key: str) -> None:
        if key == "output":
            log.sources.add(block["id"])

    return Tree(values, log, path, noted)


def _sourced(told: dict[str, list[Any]], log: Log, path: str) -> Tree:
    """Values that may themselves come from outputs: name → value and sources."""
    values = {name: value for name, (value, _) in told.items()}
    return Tree(values, log, path, lambda name: log.sources.update(told[name][1]))


def _words(problem: Any, log: Log) -> str:
    if problem.kind == "OutOfFuel":
        return f"it takes more than {FUEL:,} steps"
    told = str(problem.detail or problem.message)
    if problem.kind != "UndefinedError":
        return told
    if log.miss is None or log.miss[1] not in told:
        return f"{told}. There are doc, env, var and workspace"
    path, key, known = log.miss
    if key == "output":
        return f"{told}: {path} has not run"
    names = ", ".join(repr(name) for name in known[:20]) + (", …" if len(known) > 20 else "")
    return f"{told}. {path} has {names or 'nothing'}"
