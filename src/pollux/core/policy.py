"""Who may do what. `decide` is pure: a request, the rules and the grants in, one decision out.

The strongest matching rule speaks: highest tier, then highest priority, then the strictest. A rule that cannot be
evaluated denies. Where no rule speaks, a side effect needs a person. A grant turns "ask" into "allow" only when every
subject of the call is granted; a call without subjects cannot be granted at all.
"""

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import chain, groupby
from typing import Literal, cast

from pollux.core.canonical import canonical
from pollux.core.errors import ValidationError
from pollux.core.frozen import frozen
from pollux.core.ids import ApprovalId, GrantId, Instant, ThreadId, UserId
from pollux.core.messages import JSON
from pollux.core.tools import ToolSpec

Mode = Literal["allow", "require_approval", "deny"]
Tier = Literal["default", "extension", "workspace", "user", "admin"]
Scope = Literal["session", "always"]

TIERS: tuple[Tier, ...] = ("default", "extension", "workspace", "user", "admin")
STRICTNESS: dict[Mode, int] = {"allow": 0, "require_approval": 1, "deny": 2}


@frozen
class Decision:
    """The policy's answer. `rule` names what spoke, for the person who wonders why."""

    mode: Mode
    reason: str = ""
    rule: str = ""


@frozen
class Grant:
    """What "always allow this recipient" leaves behind: one user, one tool, one subject."""

    id: GrantId
    user: UserId
    tool: str
    subject: str
    scope: Scope
    granted_at: Instant
    thread_id: ThreadId | None = None
    approval_id: ApprovalId | None = None


@frozen
class PolicyRequest:
    """Everything a decision may depend on. `args` are the prepared ones, exactly as they would run."""

    user: UserId
    door: str
    profile: str
    tool: ToolSpec
    args: dict[str, JSON]
    subjects: frozenset[str] = frozenset()
    provenance: frozenset[str] = frozenset()
    interactive: bool = True
    thread_id: ThreadId | None = None


@frozen
class Rule:
    """One line of a policy. Patterns are shell wildcards; `args` is a regular expression over the canonical JSON."""

    decision: Mode
    tool: str = "*"
    args: str | None = None
    subjects: tuple[str, ...] | None = None
    provenance: tuple[str, ...] | None = None
    door: str = "*"
    profile: str = "*"
    user: str = "*"
    interactive: bool | None = None
    """Only where there is somebody to ask, or only where there is nobody. None: either."""
    tier: Tier = "default"
    priority: int = 0
    reason: str = ""
    name: str = ""
    grantable: bool = True

    def __post_init__(self) -> None:
        # Read letter by letter, a text where several are meant would hold a wildcard of its own: "*@example.com".
        object.__setattr__(self, "subjects", _several("subjects", self.subjects))
        object.__setattr__(self, "provenance", _several("provenance", self.provenance))
        for what, found, known in (("decision", self.decision, STRICTNESS), ("tier", self.tier, TIERS)):
            if found not in known:
                raise ValidationError(f"expected the {what} of a rule to be one of {', '.join(known)}, found {found!r}")

    @property
    def is_conditional(self) -> bool:
        """Whether it looks at more than which tool is called from where."""
        conditions = (self.args, self.subjects, self.provenance, self.interactive)
        return any(condition is not None for condition in conditions)


def _several(what: str, given: object) -> tuple[str, ...] | None:
    """Several texts. One by itself is taken as a list of one."""
    if given is None:
        return None
    items: tuple[object, ...] = (given,)
    if not isinstance(given, str) and isinstance(given, Iterable):
        items = tuple(cast("Iterable[object]", given))
    texts = tuple(text for text in items if isinstance(text, str))
    if len(texts) < len(items):
        raise ValidationError(f"expected the {what} of a rule to be texts, found {items!r}")
    return texts


def decide(request: PolicyRequest, rules: Sequence[Rule], grants: Iterable[Grant]) -> Decision:
    """May this call run: allow, ask a person, or deny. Never raises: what cannot be judged is denied."""
    decision, grantable = _by_rules(request, rules)
    if decision.mode == "require_approval":
        if grantable and _is_granted(request, grants):
            return Decision("allow", "every recipient is on your allow list", "grant")
        if not request.interactive:
            return Decision("deny", "it needs approval, and there is nobody to ask", decision.rule)
    return decision


def hides(rules: Sequence[Rule], *, tool: str, door: str, profile: str, user: str) -> bool:
    """Whether a tool is denied whatever its arguments, so that the model need not hear of it."""
    for rule in chain.from_iterable(_ranked(tuple(rules))):
        if not _is_addressed(rule, tool=tool, door=door, profile=profile, user=user):
            continue
        if not rule.is_conditional:
            return rule.decision == "deny"
        if rule.decision != "deny":
            return False
    return False


def _by_rules(request: PolicyRequest, rules: Sequence[Rule]) -> tuple[Decision, bool]:
    for equals in _ranked(tuple(rules)):
        # All of them are looked at: neither a broken rule nor a strict one depends on where it stands in the file.
        matched: list[Rule] = []
        for rule in equals:
            try:
                if _matches(rule, request):
                    matched.append(rule)
            except (re.error, OverflowError, RecursionError, ValueError, ValidationError) as problem:
                return Decision("deny", f"a policy rule could not be evaluated ({problem})", rule.name), False
        if matched:
            first = matched[0]
            grantable = all(rule.grantable for rule in matched if rule.decision == first.decision)
            return Decision(first.decision, first.reason or _default_reason(first.decision), first.name), grantable
    if request.tool.default_approval == "not_required" and not request.tool.side_effect:
        return Decision("allow", "it has no side effect", "default"), True
    if request.tool.default_approval == "not_required":
        return Decision("allow", "the tool asks for no approval", "default"), True
    return Decision("require_approval", "side effects need a person's approval", "default"), True


def _default_reason(mode: Mode) -> str:
    return {
        "allow": "a rule allows it",
        "require_approval": "a rule asks for approval",
        "deny": "a rule forbids it",
    }[mode]


@lru_cache(maxsize=256)
def _ranked(rules: tuple[Rule, ...]) -> tuple[tuple[Rule, ...], ...]:
    """The rules by tier and priority, the strongest first; of equals, the strictest first."""

    def rank(rule: Rule) -> tuple[int, int]:
        return TIERS.index(rule.tier), rule.priority

    ordered = sorted(rules, key=lambda rule: (*rank(rule), STRICTNESS[rule.decision]), reverse=True)
    return tuple(tuple(equals) for _, equals in groupby(ordered, key=rank))


def _matches(rule: Rule, request: PolicyRequest) -> bool:
    return (
        _is_addressed(rule, tool=request.tool.name, door=request.door, profile=request.profile, user=request.user)
        and (rule.interactive is None or rule.interactive == request.interactive)
        and (rule.args is None or re.search(rule.args, canonical(request.args).decode()) is not None)
        and (rule.subjects is None or _fits_subjects(rule.decision, rule.subjects, request.subjects))
        and (rule.provenance is None or _fits_provenance(rule.decision, rule.provenance, request.provenance))
    )


def _is_addressed(rule: Rule, *, tool: str, door: str, profile: str, user: str) -> bool:
    return (
        fnmatchcase(tool, rule.tool)
        and fnmatchcase(door, rule.door)
        and fnmatchcase(profile, rule.profile)
        and fnmatchcase(user, rule.user)
    )


def _fits_subjects(mode: Mode, patterns: tuple[str, ...], subjects: frozenset[str]) -> bool:
    # Leave is given for all of the recipients or for none; one bad recipient is enough to ask or refuse.
    if mode == "allow":
        return bool(subjects) and all(_fits(subject, patterns) for subject in subjects)
    return any(_fits(subject, patterns) for subject in subjects)


def _fits_provenance(mode: Mode, patterns: tuple[str, ...], sources: frozenset[str]) -> bool:
    # Words from one doubtful place are enough to ask; leave is given only when all of them came from where it says.
    if mode == "allow":
        return all(_fits(source, patterns) for source in sources)
    return any(_fits(source, patterns) for source in sources)


def _fits(value: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(value, pattern) for pattern in patterns)


def _is_granted(request: PolicyRequest, grants: Iterable[Grant]) -> bool:
    if not request.subjects:
        return False
    granted = {grant.subject for grant in grants if _applies(grant, request)}
    return request.subjects <= granted


def _applies(grant: Grant, request: PolicyRequest) -> bool:
    return (
        grant.user == request.user
        and grant.tool == request.tool.name
        and (grant.scope == "always" or grant.thread_id == request.thread_id)
    )
