"""Policies in files: TOML of our own, `[[rules]]`, and Gemini CLI's, `[[rule]]`. Both become rules of the engine.

A file is taken whole or not at all: a rule that cannot be read is an error, never a rule less.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, cast

from pollux.core.errors import ValidationError
from pollux.core.policy import STRICTNESS, TIERS, Mode, Rule, Tier
from pollux.engine.deprecated import say_args
from pollux.engine.exposure import require_private
from pollux.engine.untrusted import load_toml, read_file
from pollux.tools.policy.gemini import MODES, gemini_rules
from pollux.tools.policy.tables import SHELL, Written, command_patterns, tables_of

LARGEST_FILE: Final = 1_000_000

LISTS: Final = ("provenance", "interface", "interface_not", "asker", "capabilities", "rendered_from", "placed_by")
# Not the tier: it follows from who gives the file, never from what the file says of itself.
_KEYS: Final = frozenset(
    """decision tool commands args where subjects provenance interface interface_not door profile user asker
    capabilities document rendered_from placed_by interactive priority reason name grantable""".split()
)


def load_policy(path: Path | str, *, tier: Tier = "user", mode: str = "default") -> tuple[Rule, ...]:
    """The rules in a file. `mode` is Gemini CLI's approval mode: rules for other modes are left out.

    Raises ValidationError for a file that cannot be read, and for anything in it that cannot be understood.
    """
    return parse_policy(_read(Path(path)), name=str(path), tier=tier, mode=mode)


def parse_policy(text: str, *, name: str, tier: Tier = "user", mode: str = "default") -> tuple[Rule, ...]:
    """The rules in a text; `name` says in errors and decisions where they stand. Raises ValidationError."""
    _check("tier", tier, TIERS)
    _check("mode", mode, MODES)
    document = _document(text, name=name)
    is_own, is_gemini = "rules" in document, bool({"rule", "safety_checker"} & document.keys())
    if is_own and is_gemini:
        raise ValidationError(f"{name} holds [[rules]] and Gemini CLI's [[rule]]. Put each in a file of its own")
    Written(document, name, name).check_keys(("rule", "safety_checker") if is_gemini else ("rules",))
    entries = tables_of(document, "rule" if is_gemini else "rules", path=name)
    if not entries:
        raise ValidationError(f"{name} holds no rules. Write [[rules]] tables with a decision each, or leave it out")
    if is_own:
        say_args([f"rule {n}" for n, entry in enumerate(entries, start=1) if entry.has("args")], path=name)
        return tuple(_rule(entry, tier=tier) for entry in entries)
    return gemini_rules(entries, tables_of(document, "safety_checker", path=name), tier=tier, mode=mode)


def _rule(entry: Written, *, tier: Tier) -> Rule:
    entry.check_keys(_KEYS)
    decision = cast("Mode", entry.one_of("decision", STRICTNESS))
    commands = command_patterns(entry, "commands", decision)
    if commands is not None and entry.has("subjects"):
        raise ValidationError(f"{entry.where} has both commands and subjects. Split it into two rules")
    if commands is not None and entry.table.get("tool", SHELL) != SHELL:
        raise entry.refusal("tool", f"{SHELL!r} in a rule about commands", then="Leave it out")
    said: dict[str, Any] = {
        "tool": entry.text("tool") or (None if commands is None else SHELL),
        "args": entry.regex("args"),
        "subjects": commands or entry.texts("subjects"),
        **{key: entry.texts(key) for key in LISTS},
        "where": entry.conditions("where"),
        "document": entry.one_of("document", ("trusted", "untrusted")) if entry.has("document") else None,
        **{key: entry.text(key) for key in ("door", "profile", "user", "reason")},
        "interactive": entry.flag("interactive"),
        "priority": entry.number("priority"),
        "name": entry.text("name") or entry.name,
        "grantable": entry.flag("grantable"),
    }
    return Rule(decision, tier=tier, **{key: value for key, value in said.items() if value is not None})


def _document(text: str, *, name: str) -> Mapping[str, object]:
    try:
        return load_toml(text)
    except ValueError as problem:
        # Not always a TOMLDecodeError: a number of thousands of digits is a plain ValueError.
        raise ValidationError(f"{name} is not valid TOML: {problem}. Correct it") from None


def _read(path: Path) -> str:
    try:
        if not path.exists():
            raise ValidationError(f"there is no policy file {path}. Create it, or name another")
        require_private(path)
        content = read_file(path, most=LARGEST_FILE)
    except OSError as problem:
        raise ValidationError(f"{path} cannot be read ({problem.strerror}). Check its name and permissions") from None
    if content is None:
        raise ValidationError(f"{path} is not a file. Name a TOML file; to use several, load them one by one")
    if len(content) > LARGEST_FILE:
        raise ValidationError(f"{path} is larger than {LARGEST_FILE:,} bytes; a policy file is expected here")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise ValidationError(f"{path} is not UTF-8 text (byte {problem.start}). Save it as UTF-8") from None


def _check(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ValidationError(f"{name} must be one of {', '.join(known)}, found {value!r}")
