"""What an author may say of a tool beside its name, description and schema, and what is wrong with it."""

import inspect
import math
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final, TypedDict, get_args

from pollux.core.errors import ValidationError
from pollux.core.tools import Approval, Reconciled, Repeat, ToolContext
from pollux.tools.define import Args

NAME: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.-]{0,63}")
ANSWERS_AT_ONCE: Final = ("prepare", "subjects", "preview")
SPEC: Final = ("side_effect", "default_approval", "repeat", "parallel", "timeout")


class Options(TypedDict, total=False):
    """The options of `tool` and `define_tool`. Those that are functions get the arguments as a dict of JSON values."""

    side_effect: bool
    """Whether it changes anything outside. Needs a person's approval, unless a rule or `default_approval` says no."""
    default_approval: Approval | None
    """Whether a person must agree where no rule speaks. As `side_effect` has it, if not given."""
    repeat: Repeat | None
    """What a second execution would mean. `once` for side effects, if not given; others are repeatable."""
    parallel: bool
    """Whether it may run beside other calls of the same turn."""
    timeout: float | None
    """After how many seconds it is given up."""
    prepare: Callable[[Args], Args] | None
    """Puts the arguments into their final form, or raises ValidationError, before anybody is asked. Must be pure."""
    subjects: Callable[[Args], str | Iterable[str]] | None
    """Who or what is acted upon: what a person may allow for good."""
    preview: Callable[[Args], str] | None
    """One glance for the person who decides."""
    reconcile: Callable[[ToolContext, Args], Reconciled | Awaitable[Reconciled]] | None
    """Looks whether an interrupted attempt happened. What makes a tool `checkable`."""
    send_errors_to_model: bool
    """Whether the text of any exception goes to the model, as that of a ToolError does."""


def check(options: Mapping[str, Any]) -> None:
    """Raises TypeError for an unknown option, and ValidationError for a value that an option cannot have."""
    for option, value in options.items():
        if option not in Options.__annotations__:
            known = ", ".join(sorted(Options.__annotations__))
            raise TypeError(f"there is no option {option!r}; the options of a tool are: {known}")
        problem = _objection(option, value)
        if problem:
            raise ValidationError(f"{option} must be {problem}, found {value!r}")
    if options.get("repeat") == "checkable" and options.get("reconcile") is None:
        raise ValidationError("a checkable tool needs reconcile=, a function that looks whether it happened")


def check_name(name: object) -> str:
    """The name of a tool. Raises ValidationError for one that no model could call."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise ValidationError(
            f"a tool cannot be called {name!r}; give name= up to 64 letters, digits, '_', '.' or '-',"
            " beginning with a letter or '_'"
        )
    return name


def _objection(option: str, value: Any) -> str:
    """What the option must be, if the value is not."""
    match option:
        case "side_effect" | "parallel" | "send_errors_to_model":
            return "" if isinstance(value, bool) else "True or False"
        case "default_approval" | "repeat":
            known = get_args(Approval if option == "default_approval" else Repeat)
            return "" if value is None or value in known else "one of " + ", ".join(known)
        case "timeout":
            fits = isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf
            return "" if value is None or fits else "a number of seconds above 0"
        case _:
            if value is not None and not callable(value):
                return "a function"
            is_late = option in ANSWERS_AT_ONCE and inspect.iscoroutinefunction(value)
            return "an ordinary function (not async): it is asked before anything runs" if is_late else ""
