"""The options of an agent, checked once and typed. What does not fit is refused when the agent is made."""

import difflib
import inspect
import os
import re
from collections.abc import Callable, Iterable, Mapping
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar, cast

from pollux.bootstrap import memory_store
from pollux.core.errors import ValidationError
from pollux.core.ids import is_thread_id
from pollux.core.prices import Price
from pollux.core.profile import WHOLE, Limits
from pollux.core.redact import Secret
from pollux.engine.ports import Clock, Store
from pollux.sdk.approvals import OnApproval

if TYPE_CHECKING:
    from pollux.tools.skills import SkillDir

KEPT_LENGTH: Final = 80
BOUNDLESS: Final = ("tokens", "seconds")

T = TypeVar("T")


def directory(cwd: str | os.PathLike[str] | None) -> Path:
    """The agent's directory. Raises ValidationError unless there is one."""
    try:
        path = Path(cwd).expanduser() if cwd is not None else Path.cwd()
        found = path.resolve(strict=True)
    except (OSError, ValueError, RuntimeError, TypeError) as problem:
        raise ValidationError(f"cwd must be a directory that exists, found {_shown(cwd)}") from problem
    if not found.is_dir():
        raise ValidationError(f"cwd must be a directory, found the file {_shown(cwd)}")
    return found


def compression(threshold: float | Literal[False] | None) -> float | None:
    """The threshold as a share of the model's window, None for never.

    Raises ValidationError unless it is False, or above 0 and at most 1.
    """
    if threshold is False or threshold is None:
        return None
    fits = isinstance(cast("object", threshold), int | float) and not isinstance(threshold, bool)
    if not fits or not 0 < threshold <= 1:
        raise ValidationError(
            f"compression_threshold must be above 0 and at most 1, or False for none; found {_shown(threshold)}"
        )
    return float(threshold)


def limits(given: Limits | Mapping[str, Any] | None, answers: Mapping[str, Any]) -> Limits:
    """What a run may spend. A mapping names the fields it changes; of the others, `answers` has some as configured."""
    if given is None:
        return Limits(**answers)
    known = {name for name in Limits.__dataclass_fields__ if name != "compress_at"}
    bounds: Mapping[str, Any] = {name: getattr(given, name) for name in known} if isinstance(given, Limits) else given
    if not isinstance(cast("object", bounds), Mapping) or not set(bounds) <= known:
        raise ValidationError(f"limits must be Limits or a mapping of: {', '.join(sorted(known))}")
    for name, bound in bounds.items():
        is_whole = isinstance(bound, int) and not isinstance(bound, bool)
        is_number = is_whole or (isinstance(bound, float) and isfinite(bound) and name not in WHOLE)
        if bound is None and name in BOUNDLESS:
            continue
        if bound is None or not is_number or bound <= 0:
            kind = " without a fraction" if name in WHOLE else ""
            raise ValidationError(f"limits: {name} must be a number above 0{kind}, found {_shown(bound)}")
    return given if isinstance(given, Limits) else Limits(**{**answers, **given})


def session_id(given: str | None) -> str | None:
    """An id of a session to go on with. Raises ValidationError for what could not be one."""
    if given is None:
        return None
    if not isinstance(cast("object", given), str) or not is_thread_id(given):
        raise ValidationError(
            f"session_id must be an id of letters, digits, '-', '_' and '.', found {_shown(given)}."
            " `await agent.list_sessions()` lists the ids"
        )
    return given


def instructions(given: object) -> str | Callable[..., Any]:
    """A text, or a function of the SessionContext."""
    if isinstance(given, str) or callable(given):
        return given
    raise ValidationError(f"instructions must be a text or a function of the SessionContext, found {_kind(given)}")


def on_approval(given: object) -> tuple[OnApproval | None, bool]:
    """Who answers questions, and whether they may stay open."""
    if given is None or given == "defer":
        return None, given == "defer"
    if callable(given):
        return cast("OnApproval", given), False
    raise ValidationError(f'on_approval must be a function of the question, or "defer", found {_shown(given)}')


def store(given: object) -> Store | Path | Secret | None:
    """Where sessions are kept."""
    if given is None or callable(getattr(given, "commit", None)):
        return cast("Store | None", given)
    if given == "memory":
        return memory_store()
    if isinstance(given, str) and given.startswith(("postgres://", "postgresql://")):
        # It may hold a password.
        return Secret(given)
    if given != "" and isinstance(given, str | os.PathLike):
        return Path(cast("str | os.PathLike[str]", given)).expanduser().absolute()
    raise ValidationError(f'store must be a path, "postgresql://…", "memory" or a store, found {_shown(given)}')


def skills(given: object) -> "tuple[SkillDir, ...]":
    """Directories of skills."""
    if given == ():
        return ()
    if isinstance(given, str):
        raise ValidationError(f"skills must be a list of skill_dir(path), found {_shown(given)}")
    from pollux.tools.skills import SkillDir

    items = tuple(cast("Iterable[object]", given)) if isinstance(given, Iterable) else (given,)
    for item in items:
        if not isinstance(item, SkillDir):
            raise ValidationError(f"skills must be a list of skill_dir(path), found {_shown(item)}")
    return cast("tuple[SkillDir, ...]", items)


def count(what: str, given: object) -> int | None:
    """How many at most; None for all."""
    if given is not None and (not isinstance(given, int) or isinstance(given, bool) or given < 0):
        raise ValidationError(f"{what} must be a whole number, 0 or more, found {_shown(given)}")
    return given


def prices(given: object) -> Mapping[str, Price] | None:
    """US dollars by model."""
    if given is None:
        return None
    table = cast("Mapping[object, object]", given) if isinstance(given, Mapping) else {"": given}
    for model, price in table.items():
        if not isinstance(model, str) or not isinstance(price, Price):
            raise ValidationError(f"prices must be Price(input, output) by model, found {_shown(price)}")
    return cast("Mapping[str, Price]", table)


def clock(given: object) -> Clock | None:
    """What time it is."""
    if given is not None and not (
        callable(getattr(given, "now", None)) and callable(getattr(given, "sleep_until", None))
    ):
        raise ValidationError(f"clock must be a clock, such as pollux.testing.FakeClock, found {_shown(given)}")
    return cast("Clock | None", given)


def name(given: object) -> str:
    """What the agent is called."""
    if not isinstance(given, str) or not re.fullmatch(r"[A-Za-z0-9_. -]{1,64}", given):
        raise ValidationError(f"name must be up to 64 letters, digits, spaces, '-', '_' and '.', found {_shown(given)}")
    return given


def one_of(what: str, given: T, known: Iterable[T]) -> T:
    """The value, if it is one of these."""
    if given not in (known := tuple(known)):
        raise ValidationError(f"{what} must be one of {', '.join(map(repr, known))}, found {_shown(given)}")
    return given


def refuse_unknown(unknown: Mapping[str, object], made_by: Callable[..., None]) -> None:
    """Raises TypeError, as Python does, and names the option that was probably meant."""
    known = [name for name in inspect.signature(made_by).parameters if name not in ("self", "unknown")]
    for name in unknown:
        close = difflib.get_close_matches(name, known, 1)
        hint = f"; did you mean {close[0]!r}?" if close else f". The options are: {', '.join(known)}"
        raise TypeError(f"Agent has no option {name!r}{hint}")


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= KEPT_LENGTH else text[: KEPT_LENGTH - 1] + "…"


def _kind(value: object) -> str:
    return "None" if value is None else type(value).__name__
