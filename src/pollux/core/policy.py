"""Who may do what. `decide` is pure: a request, the rules and the grants in, one decision out.

A request has two parts that never mix: `args`, written by a model, a page, an agent or a document, and `facts`, known
by the engine. Rules read each from its own part, and nothing inside the arguments can become a fact.

The strongest matching rule speaks: highest tier, then highest priority, then the strictest. A rule that cannot be
evaluated denies. Where no rule speaks, a side effect needs a person. A grant turns "ask" into "allow" only when every
subject of the call is granted; a call without subjects cannot be granted so. An agent of ours inside a document may be
granted a tool as a whole for its session: that opens only what is asked about because of the tool, never what a rule
asks or denies because of the call or of what is known of it.

Limits fail closed. A tool that cannot read all of a call gives it the subject `UNANALYSED`: every deny and every ask
about subjects matches it, no allow and no grant does. One rule is above that: a document that a person accepted is
allowed for its identity, the hash of its text, and not for what its commands were found to do.
"""

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import chain, groupby
from typing import Final, Literal, cast

from pollux.core.canonical import canonical
from pollux.core.conditions import Condition, Match
from pollux.core.errors import ValidationError
from pollux.core.frozen import frozen
from pollux.core.ids import ApprovalId, GrantId, Instant, ThreadId, UserId
from pollux.core.messages import JSON
from pollux.core.page import PAGE
from pollux.core.spelling import ADDRESS, ADDRESSES, folded_patterns, spelled
from pollux.core.tools import ToolSpec

Mode = Literal["allow", "require_approval", "deny"]
Tier = Literal["default", "extension", "workspace", "user", "admin"]
Scope = Literal["tool", "session", "document", "always"]
"""For how long an answer counts: in this thread whatever the arguments, or for these subjects in this thread, for this
very document, or until it is revoked."""

TIERS: tuple[Tier, ...] = ("default", "extension", "workspace", "user", "admin")
SCOPES: tuple[Scope, ...] = ("tool", "session", "document", "always")
STRICTNESS: dict[Mode, int] = {"allow": 0, "require_approval": 1, "deny": 2}
UNANALYSED: Final = "unanalysed"
"""The subject of a call that is too long, too deep or too strange to be read to its end."""
ANY_ARGUMENTS: Final = "any arguments"
"""The subject of a grant for a tool as a whole. A call that names it cannot be granted."""
AGENT: Final = "runbook-agent"
"""The profile of our own agents inside documents; with a colon and a name, one that the configuration has too."""
MOST_RANKED: Final = 256
"""Lists of rules whose order is remembered."""
MOST_SUBJECTS: Final = 1_000
"""Recipients of one call. Of more, none is compared: the call counts as one that cannot be read to its end."""


@frozen
class Decision:
    """The policy's answer. `rule` names what spoke, for the person who wonders why."""

    mode: Mode
    reason: str = ""
    rule: str = ""
    grants: tuple[GrantId, ...] = ()
    """The grants that turned a question into an allowed call."""
    granted_by: tuple[str, ...] = ()
    """Who made these grants."""

    @property
    def decider(self) -> str:
        """What decided, for the audit: the rule by its name, or the grants and who made them."""
        if self.grants:
            return f"grant:{','.join(self.grants)} by {','.join(self.granted_by)}"
        return f"rule:{self.rule}" if self.rule else ""


MAY_BE_DONE = "This may have been done already: the store was restored from a backup."
"""What a person reads before approving anything that a restored run wants to do."""


def asked_again(decision: Decision) -> Decision:
    """The decision in a restored run. Whatever allowed it could not know that it may be a repetition."""
    if decision.mode == "deny":
        return decision
    said = decision.reason if decision.mode == "require_approval" else ""
    return Decision("require_approval", f"{MAY_BE_DONE} {said}".strip(), decision.rule or "restored")


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
    document: str = ""
    """The hash of the document for which it counts, where its scope is `document`."""
    definition: str = ""
    """The hash of the tool as it was when a person allowed it, and of the agent inside a document that asked. Another
    tool or agent of the same name is asked about."""
    by: str = ""
    """Who allowed it."""

    @property
    def is_whole(self) -> bool:
        """Whether it is for the tool whatever its arguments, in one session."""
        return self.scope == "session" and self.subject == ANY_ARGUMENTS


@frozen
class Document:
    """The runbook that a run follows: a hash of its text and its place, and whether a person accepted it as it is."""

    digest: str
    is_trusted: bool = False


@frozen(kw_only=True)
class Facts:
    """What the engine knows of a call. Nothing that a model, page, agent or document wrote becomes one of these."""

    user: UserId
    interface: str
    profile: str
    interactive: bool = True
    thread_id: ThreadId | None = None
    provenance: frozenset[str] = frozenset()
    """Where the words came from that the model had read."""
    asker: str = ""
    """The tool at work that asked for this call; empty for what the model asked for."""
    capabilities: frozenset[str] = frozenset()
    """What the agent behind the call was given, as a person accepted it."""
    document: Document | None = None
    rendered_from: frozenset[str] = frozenset()
    """The blocks whose outputs are a part of the arguments, each as `type: name`."""
    placed_by: frozenset[str] = frozenset()
    """The blocks whose outputs say where it works."""
    definition: str = ""
    """The hash of the tool's definition and of the agent that asks, where somebody may have consented to it."""

    @property
    def is_own_agents(self) -> bool:
        """Whether an agent of ours inside a document calls the tool itself."""
        return self.document is not None and not self.asker and self.profile.partition(":")[0] == AGENT


@frozen
class PolicyRequest:
    """Everything a decision may depend on. `args` are the prepared ones, exactly as they would run."""

    tool: ToolSpec
    args: dict[str, JSON]
    facts: Facts
    subjects: frozenset[str] = frozenset()


@frozen
class Rule:
    """One line of a policy. Patterns are shell wildcards; conditions in `where` look at the parsed arguments."""

    decision: Mode
    tool: str = "*"
    args: str | None = None
    """Deprecated: a regular expression over the canonical JSON. Use `where`."""
    subjects: tuple[str, ...] | None = None
    provenance: tuple[str, ...] | None = None
    door: str = "*"
    """The former name of `interface`."""
    profile: str = "*"
    user: str = "*"
    interactive: bool | None = None
    """Only where there is somebody to ask, or only where there is nobody. None: either."""
    tier: Tier = "default"
    priority: int = 0
    reason: str = ""
    name: str = ""
    grantable: bool = True
    where: tuple[Condition, ...] = ()
    """Conditions on the arguments. All of them must hold."""
    interface: tuple[str, ...] | None = None
    interface_not: tuple[str, ...] = ()
    asker: tuple[str, ...] | None = None
    capabilities: tuple[str, ...] | None = None
    """What the agent behind the call must have been given: all of these."""
    document: Literal["trusted", "untrusted"] | None = None
    rendered_from: tuple[str, ...] | None = None
    placed_by: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        if self.door != "*":
            set_(self, "interface", (*(self.interface or ()), self.door))
            set_(self, "door", "*")
        # Read letter by letter, a text where several are meant would hold a wildcard of its own: "*@example.com".
        for what in ("subjects", "provenance", "interface", "asker", "capabilities", "rendered_from", "placed_by"):
            set_(self, what, _several(what, getattr(self, what)))
        set_(self, "interface_not", _several("interface_not", self.interface_not) or ())
        for what, found, known in (("decision", self.decision, STRICTNESS), ("tier", self.tier, TIERS)):
            if found not in known:
                raise ValidationError(f"expected the {what} of a rule to be one of {', '.join(known)}, found {found!r}")

    @property
    def is_conditional(self) -> bool:
        """Whether it looks at more than which tool is called from where."""
        conditions = (
            self.args,
            self.where or None,
            self.subjects,
            self.provenance,
            self.interactive,
            self.asker,
            self.capabilities,
            self.document,
            self.rendered_from,
            self.placed_by,
        )
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


def no_patterns(pattern: str, text: str) -> bool:
    """Stands for an engine of patterns where none was given: rules that need one cannot be evaluated."""
    raise ValidationError("this rule has a pattern, and there is no engine for patterns here")


Verdict = tuple[Decision, bool, bool]
"""What the rules alone say of a call, and where they ask, whether a grant may answer, and one for the whole tool."""


def decide(
    request: PolicyRequest, rules: Sequence[Rule], grants: Iterable[Grant], *, match: Match = no_patterns
) -> Decision:
    """May this call run: allow, ask a person, or deny. Never raises: what cannot be judged is denied."""
    return with_grants(request, by_rules(request, rules, match=match), grants)


def by_rules(request: PolicyRequest, rules: Sequence[Rule], *, match: Match = no_patterns) -> Verdict:
    """What the rules say. Never raises."""
    for equals in _ranks_of(rules):
        # All of them are looked at: neither a broken rule nor a strict one depends on where it stands in the file.
        matched: list[Rule] = []
        for rule in equals:
            try:
                if _matches(rule, request, match):
                    matched.append(rule)
            except (re.error, OverflowError, RecursionError, ValueError, ValidationError) as problem:
                said = f"a policy rule could not be evaluated ({problem})"
                return Decision("deny", said, _name_of(rule)), False, False
        if matched:
            first = matched[0]
            grantable = all(rule.grantable for rule in matched if rule.decision == first.decision)
            said = first.reason or _default_reason(first.decision)
            is_whole = grantable and first.decision == "require_approval" and _asks_for_tool(request, rules, match)
            return Decision(first.decision, said, _name_of(first)), grantable, is_whole
    if UNANALYSED in request.subjects:
        said = "it is too long or too deeply nested to be analysed"
        return Decision("require_approval", said, "default"), False, False
    if request.tool.default_approval == "not_required":
        said = "the tool asks for no approval" if request.tool.side_effect else "it has no side effect"
        return Decision("allow", said, "default"), True, False
    said = "side effects need a person's approval"
    return Decision("require_approval", said, "default"), True, _asks_for_tool(request, rules, match)


def _asks_for_tool(request: PolicyRequest, rules: Sequence[Rule], match: Match) -> bool:
    """Whether an own agent is asked because of the tool alone.

    Every rule is looked at, also one that a stronger one outweighs: no rule that asks may make the answer wider.
    """
    if not request.facts.is_own_agents or request.subjects & {UNANALYSED, ANY_ARGUMENTS}:
        return False
    strict = (rule for rule in rules if rule.decision != "allow" and (rule.is_conditional or not rule.grantable))
    try:
        return not any(_matches(rule, request, match) for rule in strict)
    except (re.error, OverflowError, RecursionError, ValueError, ValidationError):
        return False


def with_grants(request: PolicyRequest, verdict: Verdict, grants: Iterable[Grant]) -> Decision:
    """The rules' answer, with a question answered by grants, or refused where there is nobody to ask."""
    decision, grantable, is_whole = verdict
    if decision.mode == "require_approval":
        if grantable and (used := _granted_by(request, grants, is_whole=is_whole)):
            makers = tuple(sorted({grant.by for grant in used if grant.by}))
            ids = tuple(sorted(grant.id for grant in used))
            said = (
                "you always allow this tool in this session"
                if used[0].is_whole
                else "every recipient is on your allow list"
            )
            return Decision("allow", said, "grant", ids, makers)
        if not request.facts.interactive:
            return Decision("deny", "it needs approval, and there is nobody to ask", decision.rule)
    return decision


def offered_scopes(request: PolicyRequest, verdict: Verdict) -> tuple[Scope, ...]:
    """For how long a person may allow this call from now on: nothing where a grant could not be recognised later."""
    decision, grantable, is_whole = verdict
    if decision.mode != "require_approval" or not grantable:
        return ()
    whole: tuple[Scope, ...] = ("tool",) if is_whole else ()
    if not request.subjects or request.subjects & {UNANALYSED, ANY_ARGUMENTS}:
        return whole
    if request.facts.interface == PAGE:
        # A page says who its visitor is. What it has approved holds nowhere else that this user is known.
        return ("session",)
    # What an agent inside a document asks for is known by names that the document chose.
    widest: Scope = "document" if request.facts.document else "always"
    return (*whole, "session", widest)


def hides(rules: Sequence[Rule], *, tool: str, interface: str, profile: str, user: str) -> bool:
    """Whether a tool is denied whatever its arguments, so that the model need not hear of it."""
    for rule in chain.from_iterable(_ranked(tuple(rules))):
        if not _is_addressed(rule, tool=tool, interface=interface, profile=profile, user=user):
            continue
        if not rule.is_conditional:
            return rule.decision == "deny"
        if rule.decision != "deny":
            return False
    return False


def _name_of(rule: Rule) -> str:
    """What the audit calls it. Where nobody gave it a name, it is called by what it does."""
    return rule.name or f"{rule.tier} {rule.decision} {rule.tool}"


def _default_reason(mode: Mode) -> str:
    return {
        "allow": "a rule allows it",
        "require_approval": "a rule asks for approval",
        "deny": "a rule forbids it",
    }[mode]


_Ranks = tuple[tuple[Rule, ...], ...]
_ranks: dict[int, tuple[Sequence[Rule], _Ranks]] = {}
"""What was ranked before, by identity: to hash a list of rules takes longer than to walk through it."""


def _ranks_of(rules: Sequence[Rule]) -> _Ranks:
    place = id(rules)
    known = _ranks.get(place)
    if known is not None and known[0] is rules:
        return known[1]
    ranked = _ranked(tuple(rules))
    # Anything else might change, and be the same object still.
    if type(rules) is tuple:
        if len(_ranks) >= MOST_RANKED:
            _ranks.clear()
        _ranks[place] = (cast("tuple[Rule, ...]", rules), ranked)
    return ranked


@lru_cache(maxsize=MOST_RANKED)
def _ranked(rules: tuple[Rule, ...]) -> _Ranks:
    """The rules by tier and priority, the strongest first; of equals, the strictest first."""

    def rank(rule: Rule) -> tuple[int, int]:
        return TIERS.index(rule.tier), rule.priority

    ordered = sorted(rules, key=lambda rule: (*rank(rule), STRICTNESS[rule.decision]), reverse=True)
    return tuple(tuple(equals) for _, equals in groupby(ordered, key=rank))


def _matches(rule: Rule, request: PolicyRequest, match: Match) -> bool:
    facts, allows = request.facts, rule.decision == "allow"
    return (
        _is_addressed(rule, tool=request.tool.name, interface=facts.interface, profile=facts.profile, user=facts.user)
        and not (allows and UNANALYSED in request.subjects and rule.document != "trusted")
        and (rule.interactive is None or rule.interactive == facts.interactive)
        and _fits_facts(rule, facts)
        and (rule.subjects is None or _fits_subjects(rule.decision, rule.subjects, request.subjects))
        and (rule.provenance is None or _fits_sources(allows, rule.provenance, facts.provenance))
        and (not rule.where or all(one.holds(request.args, allows=allows, match=match) for one in rule.where))
        and (rule.args is None or match(rule.args, canonical(request.args).decode()))
    )


def _is_addressed(rule: Rule, *, tool: str, interface: str, profile: str, user: str) -> bool:
    return (
        _is_like(tool, rule.tool)
        and (rule.interface is None or _fits(interface, rule.interface))
        and not (rule.interface_not and _fits(interface, rule.interface_not))
        and _is_like(profile, rule.profile)
        and _is_like(user, rule.user)
    )


def _fits_facts(rule: Rule, facts: Facts) -> bool:
    allows = rule.decision == "allow"
    return (
        (rule.asker is None or _fits(facts.asker, rule.asker))
        and (rule.capabilities is None or facts.capabilities.issuperset(rule.capabilities))
        and (rule.document is None or rule.document == _trust_of(facts.document))
        and (rule.rendered_from is None or _fits_sources(allows, rule.rendered_from, facts.rendered_from))
        and (rule.placed_by is None or _fits_sources(allows, rule.placed_by, facts.placed_by))
    )


def _trust_of(document: Document | None) -> str | None:
    return None if document is None else "trusted" if document.is_trusted else "untrusted"


def _fits_subjects(mode: Mode, patterns: tuple[str, ...], subjects: frozenset[str]) -> bool:
    # An allow needs all of the recipients; one bad recipient is enough to ask or deny.
    if mode == "allow":
        return bool(subjects) and all(_is_allowed(subject, patterns) for subject in subjects)
    if UNANALYSED in subjects:
        return True
    for subject in subjects:  # noqa: SIM110  A generator costs more than the comparison.
        if _fits_however_spelled(subject, patterns):
            return True
    return False


def _is_allowed(subject: str, patterns: tuple[str, ...]) -> bool:
    # A tool may name a text as its recipient in which there are two: `*@example.com` does not allow the other one.
    return any(
        fnmatchcase(subject, pattern) and (not ADDRESSES.fullmatch(pattern) or ADDRESS.fullmatch(subject) is not None)
        for pattern in patterns
    )


def _fits_sources(allows: bool, patterns: tuple[str, ...], sources: frozenset[str]) -> bool:
    # Words from one doubtful place are enough to ask; an allow needs all of them to come from where it says.
    return (all if allows else any)(_fits(source, patterns) for source in sources)


def _fits(value: str, patterns: tuple[str, ...]) -> bool:
    for pattern in patterns:  # noqa: SIM110  A generator costs a third of the decision.
        if fnmatchcase(value, pattern):
            return True
    return False


def _is_like(value: str, pattern: str) -> bool:
    # Most rules are about any profile and any user: a wildcard's machinery costs more than the rest of a rule.
    return pattern == "*" or value == pattern or fnmatchcase(value, pattern)


def _fits_however_spelled(subject: str, patterns: tuple[str, ...]) -> bool:
    """As a deny looks at a subject: another case, Unicode form or IDNA spelling is no way around it.

    A text that takes too long to bring into one form fits. So does a text with an address in it, where the patterns are
    about addresses and it is not certain which one programs read there.
    """
    if _fits(subject, patterns):
        return True
    known, is_about_addresses = folded_patterns(patterns)
    found = spelled[subject]
    if found is None or (is_about_addresses and not found.is_clear):
        return True
    for each in found.spellings:  # noqa: SIM110  A generator costs more than the comparison.
        if _fits(each, known):
            return True
    return False


def _granted_by(request: PolicyRequest, grants: Iterable[Grant], *, is_whole: bool) -> tuple[Grant, ...]:
    """The grant for the whole tool, or those that together cover every subject; none where one subject is left."""
    if is_whole:
        grants = tuple(grants)
        if whole := next((grant for grant in grants if grant.is_whole and _applies(grant, request)), None):
            return (whole,)
    if not request.subjects or request.subjects & {UNANALYSED, ANY_ARGUMENTS}:
        return ()
    wanted = request.subjects
    granted = {grant.subject: grant for grant in grants if grant.subject in wanted and _applies(grant, request)}
    return tuple(granted.values()) if len(granted) == len(wanted) else ()


def _applies(grant: Grant, request: PolicyRequest) -> bool:
    facts = request.facts
    if grant.user != facts.user or grant.tool != request.tool.name or grant.definition != facts.definition:
        return False
    if grant.scope == "session":
        return grant.thread_id == facts.thread_id
    if grant.scope == "document":
        return facts.document is not None and grant.document == facts.document.digest
    # What a document's blocks ask is known by names that the document chose: nothing of it counts elsewhere.
    return facts.document is None
