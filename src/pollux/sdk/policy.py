"""`policy=` as rules: a name, a file, rules, or any of them in a list."""

import inspect
import os
import warnings
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Final, cast

from pollux.core.errors import ValidationError
from pollux.core.policy import Rule
from pollux.sdk.rule import plain

ASK: Final[tuple[Rule, ...]] = ()
"""No rules: side effects ask, the rest runs."""

# Named, so that every decision it makes says in journal and audit who made it. It speaks where no other rule does: what
# somebody forbids stays forbidden.
ALLOW_ALL: Final = (Rule("allow", priority=-999_999, name="allow_all", reason="the policy is allow_all"),)
ARGS_DEPRECATED: Final = "`args` of a rule searches all arguments at once and is deprecated. Use `where`"
NAMED: Final = {"ask": ASK, "allow_all": ALLOW_ALL}


def rules_of(policy: object) -> tuple[Rule, ...]:
    """The rules. Raises ValidationError for what is no policy, ConfigError's kin for a file with mistakes."""
    match policy:
        case None:
            return ASK
        case Rule():
            return (_as_given(policy),)
        case str() if policy in NAMED:
            return NAMED[policy]
        case str() | os.PathLike():
            path = Path(cast("str | os.PathLike[str]", policy)).expanduser()
            if isinstance(policy, str) and not path.suffix:
                names = ", ".join(repr(name) for name in NAMED)
                raise ValidationError(f"policy must be {names}, a TOML file or rules, found {policy!r}")
            from pollux.tools.policy.files import load_policy

            return load_policy(path)
        case Iterable():
            return tuple(rule for item in cast("Iterable[object]", policy) for rule in rules_of(item))
        case _:
            raise ValidationError(f"policy must be a name, a TOML file or rules, found {type(policy).__name__}")


def parts_of(policy: object) -> tuple[object, ...]:
    """The names, files and rules in it, one by one: what may be gone through only once is gone through here."""
    if isinstance(policy, Iterable) and not isinstance(policy, str | os.PathLike):
        return tuple(part for item in cast("Iterable[object]", policy) for part in parts_of(item))
    return (policy,)


def policy_files(parts: Iterable[object]) -> tuple[Path, ...]:
    """The files among the parts of a policy."""
    paths = (cast("str | os.PathLike[str]", part) for part in parts if isinstance(part, str | os.PathLike))
    return tuple(Path(path).expanduser().absolute() for path in paths if path not in NAMED)


def _as_given(rule: Rule) -> Rule:
    if rule.args is not None:
        warnings.warn(ARGS_DEPRECATED, DeprecationWarning, stacklevel=_levels_to_caller())
    # The author of the script is its user: what they wrote stands above what an extension brings.
    return replace(plain(rule), tier="user") if rule.tier == "default" else plain(rule)


def _levels_to_caller() -> int:
    """How far above `_as_given` the author's own code is: there the warning is shown."""
    frame, levels = inspect.currentframe(), 0
    while frame and str(frame.f_globals.get("__name__")).partition(".")[0] == "pollux":
        frame, levels = frame.f_back, levels + 1
    return levels
