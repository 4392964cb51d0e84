"""The gate: no action without a decision, no attempt without looking at the decision again.

What follows at once from a run's state is found here fact by fact, and written with the fact that made it due.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, cast

import jsonschema_rs

from pollux.core import policy
from pollux.core.canonical import digest, normal, require_bounded, require_few
from pollux.core.effects import Authorize, CallModel, RunTool
from pollux.core.errors import AuthError, ValidationError
from pollux.core.events import ActionDecided, ActionFailed, ActionStarted, CallRefused, Event, ModelCalled
from pollux.core.frozen import frozen
from pollux.core.ids import ActionId, Instant
from pollux.core.machine import conclude, pending
from pollux.core.messages import JSON, CallFacts, ToolCall
from pollux.core.page import Page
from pollux.core.policy import MOST_SUBJECTS, UNANALYSED, Grant, PolicyRequest, Rule, Verdict
from pollux.core.profile import Profile
from pollux.core.run import Action, Approval, Run, action_id, approval_id
from pollux.core.thread import NO_FACTS, facts_of
from pollux.core.tools import Informed, Personal, Tool, ToolSpec
from pollux.engine import schemas
from pollux.engine.definitions import defined, definition_hash
from pollux.engine.logs import log_of
from pollux.engine.on_page import OnPage
from pollux.engine.outside import Outside
from pollux.engine.patterns import is_match
from pollux.engine.ports import Clock, Store

logger = log_of(__name__)

PREVIEW_LENGTH = 2_000
MAX_OFFERS = 1_000
MAX_BOXES = 200

Offer = tuple[tuple[ToolSpec, ...], tuple[Rule, ...], frozenset[str]]
"""The tools that the model hears of, the rules it is under, and the tools' names."""


@frozen
class Terms:
    """What decisions are made under, as of now."""

    toolbox: "Toolbox"
    offered: frozenset[str]
    rules: Sequence[Rule]
    grants: Sequence[Grant]
    now: Instant


class Gate:
    """What one engine decides under: its tools, profiles and rules, and the grants in its store."""

    def __init__(
        self,
        *,
        toolbox: "Toolbox",
        profiles: Mapping[str, Profile],
        rules: Sequence[Rule],
        store: Store,
        clock: Clock,
        name: str,
    ) -> None:
        self.toolbox = toolbox
        self.clock = clock
        self.name = name
        """Under which name this process claims runs: it decides for those alone."""
        self._profiles = profiles
        self._rules = rules
        self._store = store
        self._offers: dict[tuple[object, ...], Offer] = {}
        self._boxes: dict[tuple[object, ...], Toolbox] = {}

    def profile_of(self, run: Run) -> Profile:
        """The run's profile. One that is gone offers nothing and allows nothing: default to refusing."""
        return self._profiles.get(run.profile) or Profile(run.profile, rules=(Rule("deny", reason="no such profile"),))

    def knows(self, profile: str) -> bool:
        """Whether runs of this profile can be driven here. Others may share the store, with agents of their own."""
        return profile in self._profiles

    def offer_of(self, run: Run) -> Offer:
        """The tools that the model hears of, and the rules it is under."""
        # Rules and profiles do not change while an engine lives; working this out is a good part of a short turn.
        key = (run.profile, run.door, run.user, run.rules)
        known = self._offers.get(key)
        if known is None:
            profile = self.profile_of(run)
            rules = (*self._rules, *profile.rules, *run.rules)
            specs = _offered_tools(run, profile, self.toolbox, rules)
            _make_room(self._offers, MAX_OFFERS)
            known = self._offers[key] = specs, rules, frozenset(spec.name for spec in specs)
        if not run.page or not run.page.tools:
            return known
        # What the page brings cannot take the name of anything of ours. It is not kept: pages may bring a lot.
        brought = [spec for spec in run.page.tools if spec.name not in self.toolbox]
        return (*known[0], *brought), known[1], known[2] | {spec.name for spec in brought}

    def toolbox_of(self, run: Run) -> "Toolbox":
        """Our tools, and those that the run's page brings."""
        if not run.page or not run.page.tools:
            return self.toolbox
        page = run.page
        asked = (page.private, page.consequential, page.sending, page.names)
        key = (tuple((spec.schema_hash, spec.description) for spec in page.tools), *asked)
        known = self._boxes.get(key)
        if known is None:
            _make_room(self._boxes, MAX_BOXES)
            known = self._boxes[key] = self.toolbox.with_page(run.page)
        return known

    async def tools_for(self, run: Run) -> tuple[ToolSpec, ...]:
        """The tools that the model hears of now: those that depend on the user's accounts only once they are there."""
        specs = self.offer_of(run)[0]
        if not self.toolbox.personal:
            return specs
        hidden = {
            name
            for name, tool in self.toolbox.personal.items()
            if any(s.name == name for s in specs) and not await tool.is_offered(run.user)
        }
        return tuple(spec for spec in specs if spec.name not in hidden) if hidden else specs

    async def terms_for(self, run: Run, *, granted: bool = True) -> Terms:
        """What to decide under, as of now. Grants are read from the store; those who need none are spared that."""
        _, rules, offered = self.offer_of(run)
        return Terms(
            toolbox=self.toolbox_of(run),
            offered=offered,
            rules=rules,
            grants=await self._store.grants(run.user) if granted else (),
            now=self.clock.now(),
        )

    async def reconsidered(self, run: Run, action: Action) -> ActionDecided | str:
        """What speaks against an approval given now: a question about the tool as it is, an objection, or nothing."""
        # What a tool at work asked for stays as it asked: it is stopped before it starts.
        if not self.knows(run.profile) or action.asker or not action.is_asked:
            return ""
        terms = await self.terms_for(run)
        objection = _objection(run, action, terms)
        if not objection or not is_redefined(action, terms):
            return objection
        try:
            prepared = terms.toolbox.prepare(action.tool, action.args, action.call.facts)
        except ValidationError:
            # The call does not fit the new tool: there is nothing to ask about.
            return objection
        return revised(run, action, prepared, terms, by=action.edited_by)


class Followed:
    """What follows at once from a state: endings for everybody; decisions and announcements for the driver."""

    __slots__ = ("_decided", "_gate", "_grantless", "_is_driven", "_terms")

    def __init__(self, gate: Gate, *, is_driven: bool = True) -> None:
        self._gate = gate
        # What is announced here must be begun here. A run of ours that the next worker claims is not ours to begin.
        self._is_driven = is_driven
        self._grantless: Terms | None = None
        self._terms: Terms | None = None
        self._decided: set[ActionId] = set()

    async def __call__(self, run: Run) -> Event | None:
        gate = self._gate
        ending = conclude(run, gate.clock.now())
        if ending is not None:
            return ending
        for effect in pending(run) if self._is_driven and run.driver == gate.name else ():
            match effect:
                case CallModel(begun=False):
                    return ModelCalled(epoch=run.epoch, turn=run.turn, attempt=run.attempt, at=gate.clock.now())
                case Authorize(call=call):
                    return await self._authorize(run, call)
                case RunTool(begun=False, action_id=action_id):
                    # Decided in this very transaction: asking again could only repeat the answer.
                    is_fresh = action_id in self._decided
                    terms = (self._grantless if is_fresh else None) or await gate.terms_for(run)
                    return begin(run, _known(run, action_id), terms, is_fresh=is_fresh)
                case _:
                    pass
        # After a conflict all of it is asked again: then under the terms of that moment.
        self._grantless = self._terms = None
        self._decided.clear()
        return None

    async def _authorize(self, run: Run, call: ToolCall) -> Event:
        """A grant can only turn a question into leave: where the rules ask nothing, none needs to be read."""
        gate = self._gate
        personal = gate.toolbox.personal.get(call.name)
        if personal is not None and (refusal := await _not_admitted(run, call, personal, gate.clock.now())):
            return refusal
        if self._grantless is None:
            self._grantless = await gate.terms_for(run, granted=False)
        terms = self._terms or self._grantless
        judged = authorize(run, call, terms)
        if isinstance(judged, CallRefused):
            return judged
        if self._terms is None and judged.verdict[0].mode == "require_approval":
            terms = self._terms = await gate.terms_for(run)
        action = answered(run, judged, terms, id=action_id(run.id, run.turn, run.calls.index(call)))
        self._decided.add(action.id)
        return ActionDecided(epoch=run.epoch, action=action, at=terms.now)


async def _not_admitted(run: Run, call: ToolCall, tool: Personal, now: Instant) -> CallRefused | None:
    """Nobody is asked about what could not be done anyway: the user has to connect an account first."""
    try:
        await tool.admit(run.user)
    except AuthError as problem:
        return CallRefused(
            epoch=run.epoch,
            call_id=call.id,
            code="auth_error",
            message=str(problem),
            connect_url=problem.connect_url or "",
            at=now,
        )
    return None


@frozen
class Judged:
    """A call whose arguments are ready, and what the rules say of it: all of a decision but the grants."""

    call: ToolCall
    request: PolicyRequest
    verdict: Verdict
    args_hash: str
    preview: str


def authorize(run: Run, call: ToolCall, terms: Terms) -> Judged | CallRefused:
    """Make the call ready for a decision, or say why that cannot be."""
    if call.name not in terms.offered or call.name not in terms.toolbox:
        known = ", ".join(sorted(terms.offered)) or "none"
        return _refusal(run, call, "unknown_tool", f"there is no tool {call.name!r}; the tools are: {known}", terms)
    try:
        args = terms.toolbox.prepare(call.name, call.args, call.facts)
        return _judged(run, call, args, terms)
    except ValidationError as problem:
        return _refusal(run, call, "invalid_args", str(problem), terms)
    except Exception:
        # A tool that cannot even describe its call is not run: default to refusing.
        logger.exception("a tool failed while its call was being prepared")
        return _refusal(run, call, "invalid_args", "the tool could not prepare this call", terms)


def plan(
    run: Run,
    call: ToolCall,
    args: dict[str, JSON],
    terms: Terms,
    *,
    id: ActionId,
    edited_by: str = "",
    asker: str = "",
) -> Action:
    """An action for prepared arguments, with the policy's answer and, where it asks, the question to a person."""
    judged = _judged(run, call, args, terms, asker)
    return answered(run, judged, terms, id=id, edited_by=edited_by, asker=asker)


def _judged(run: Run, call: ToolCall, args: dict[str, JSON], terms: Terms, asker: str = "") -> Judged:
    tool = terms.toolbox.informed(call.name, call.facts)
    request = _request_for(run, tool, args, call, asker=asker)
    verdict = policy.by_rules(request, terms.rules, match=is_match)
    if verdict[0].mode == "require_approval" or (run.restored and tool.spec.side_effect):
        # Somebody may consent to it, or has.
        definition = run.consented(terms.toolbox.definition(call.name), asker)
        request = replace(request, facts=replace(request.facts, definition=definition))
    note = call.facts.preview_note if call.facts else ""
    return Judged(call, request, verdict, digest(args), _glance(tool.preview(args) + note))


def answered(run: Run, judged: Judged, terms: Terms, *, id: ActionId, edited_by: str = "", asker: str = "") -> Action:
    """The action, once the grants are looked at. Nothing of the tool's own is asked any more, and no rule twice."""
    request = judged.request
    spec = terms.toolbox[judged.call.name].spec
    decision = policy.with_grants(request, judged.verdict, terms.grants)
    decision = policy.asked_again(decision) if run.restored and spec.side_effect else decision
    approval = None
    if decision.mode == "require_approval":
        approval = Approval(
            id=approval_id(id),
            args_hash=judged.args_hash,
            schema_hash=spec.schema_hash,
            reason=decision.reason,
            preview=judged.preview,
            requested_at=terms.now,
            expires_at=terms.now + run.limits.approval_seconds,
            scopes=() if run.restored else policy.offered_scopes(request, judged.verdict),
        )
    return Action(
        id=id,
        call=judged.call,
        turn=run.turn,
        tool=spec.name,
        args=request.args,
        args_hash=judged.args_hash,
        schema_hash=spec.schema_hash,
        decided_at=terms.now,
        side_effect=spec.side_effect,
        repeat=spec.repeat or "once",
        parallel=spec.parallel,
        where=spec.where,
        decision=decision,
        subjects=tuple(sorted(request.subjects)),
        provenance=tuple(sorted(request.facts.provenance)),
        preview=judged.preview,
        approval=approval,
        edited_by=edited_by,
        asker=asker,
        definition=terms.toolbox.definition(judged.call.name) if approval or decision.grants else "",
    )


def _glance(preview: str) -> str:
    """A preview of bearable length. That something was left out is said: the end may be what it is about."""
    if len(preview) <= PREVIEW_LENGTH:
        return preview
    kept = preview[: PREVIEW_LENGTH - 80]
    return f"{kept}… and {len(preview) - len(kept)} more characters; the arguments show all of it"


def begin(run: Run, action: Action, terms: Terms, *, is_fresh: bool = False) -> ActionStarted | ActionFailed:
    """Announce an attempt, unless the policy or the tool has changed since the decision."""
    now = terms.now
    objection = "" if is_fresh else _objection(run, action, terms)
    if objection:
        return ActionFailed(
            epoch=run.epoch, action_id=action.id, attempt=0, code="policy_changed", message=objection, at=now
        )
    before = action.started.attempt if action.started else 0
    deadline = now + run.limits.page_seconds if action.where == "page" else None
    return ActionStarted(epoch=run.epoch, action_id=action.id, attempt=before + 1, deadline=deadline, at=now)


def _request_for(
    run: Run, tool: Tool, args: dict[str, JSON], call: ToolCall, *, asker: str, definition: str = ""
) -> PolicyRequest:
    spec = tool.asking(args) if isinstance(tool, OnPage) else tool.spec
    # Worked out from the facts of the call, by the tool: no argument says it, and no edit changes it.
    unaccepted = tool.unaccepted(args) if isinstance(tool, Informed) else ()
    facts = facts_of(run, call, asker=asker, unaccepted=unaccepted, definition=definition)
    subjects = tool.subjects(args)
    return PolicyRequest(spec, args, facts, subjects | {UNANALYSED} if len(subjects) > MOST_SUBJECTS else subjects)


def is_redefined(action: Action, terms: Terms) -> bool:
    """Whether there is a tool of that name, but not the one that somebody was asked about."""
    tool = terms.toolbox.get(action.tool)
    if tool is None or action.tool not in terms.offered or not action.definition:
        return False
    return action.definition != terms.toolbox.definition(action.tool)


def revised(run: Run, old: Action, prepared: dict[str, JSON], terms: Terms, *, by: str) -> ActionDecided:
    """Another action for the same call, decided by itself. The old one is superseded."""
    revision = sum(1 for action in run.actions if action.call.id == old.call.id and action.turn == old.turn)
    index = next((i for i, call in enumerate(run.calls) if call.id == old.call.id), 0)
    new = plan(run, old.call, prepared, terms, id=action_id(run.id, old.turn, index, revision), edited_by=by)
    return ActionDecided(epoch=run.epoch, action=new, supersedes=old.id, at=terms.now)


def _objection(run: Run, action: Action, terms: Terms) -> str:
    tool = terms.toolbox.get(action.tool)
    # The profile may have lost the tool since: what it does not offer, it does not run.
    if tool is None or action.tool not in terms.offered or tool.spec.schema_hash != action.schema_hash:
        return "the tool has changed since the call was decided"
    if is_redefined(action, terms):
        return "the tool has changed since the call was decided"
    if digest(action.args) != action.args_hash:
        return "the arguments are not the ones that were decided on"
    try:
        known = terms.toolbox.informed(action.tool, action.call.facts)
        request = _request_for(run, known, action.args, action.call, asker=action.asker, definition=action.definition)
    except Exception:
        # As when it was planned: what a tool cannot describe is not run. Whoever answered is not to blame for it.
        logger.exception("a tool failed while its call was being looked at again")
        return "the tool cannot describe this call any more"
    # Only by the grants that it was decided by: they are what the audit names, and what the commit is held to.
    counted = action.decision.grants if action.decision else ()
    grants = [grant for grant in terms.grants if grant.id in counted]
    if len(grants) < len(counted):
        return "the policy wants a person's approval now: what allowed it without one was revoked"
    decision = policy.decide(request, terms.rules, grants, match=is_match)
    if decision.mode == "deny":
        return f"the policy forbids it now: {decision.reason}"
    if decision.mode == "require_approval" and action.approval is None:
        return "the policy wants a person's approval now, and there was none"
    return ""


def _refusal(
    run: Run, call: ToolCall, code: Literal["unknown_tool", "invalid_args"], message: str, terms: Terms
) -> CallRefused:
    return CallRefused(epoch=run.epoch, call_id=call.id, code=code, message=message, at=terms.now)


def _make_room(known: dict[Any, Any], most: int) -> None:
    """Forget the oldest alone: what one visitor brings must not empty it for everybody."""
    while len(known) >= most:
        del known[next(iter(known))]


def _offered_tools(run: Run, profile: Profile, toolbox: "Toolbox", rules: Sequence[Rule]) -> tuple[ToolSpec, ...]:
    """The tools that the model hears of: the profile's, without those that are denied outright."""
    return tuple(
        toolbox[name].spec
        for name in profile.tools
        if name in toolbox
        and not policy.hides(rules, tool=name, interface=run.door, profile=run.profile, user=run.user)
    )


def _known(run: Run, action_id: ActionId) -> Action:
    action = run.action(action_id)
    assert action is not None
    return action


class Toolbox(dict[str, Tool]):
    """Tools by name. Two of one name are refused: the model could not tell them apart."""

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        super().__init__()
        self._validators: dict[str, jsonschema_rs.Validator] = {}
        self._outside: dict[str, Outside] = {}
        """Schemas of the page's tools. Made when they are called: a page may bring many, and calls few."""
        self._definitions: dict[str, str] = {}
        self.personal: dict[str, Personal] = {}
        """Those that need an account of the user's."""
        self._informed: dict[str, Informed] = {}
        for tool in tools:
            self.add(tool)

    def add(self, tool: Tool) -> None:
        name = tool.spec.name
        if name in self:
            raise ValidationError(f"two tools are called {name!r}; give one of them another name")
        try:
            self._validators[name] = schemas.validator(tool.spec.input_schema)
        except ValidationError as problem:
            raise ValidationError(f"tool {name!r}: {problem}") from None
        self[name] = tool
        # Now, as its author made it: what it holds may change while it works, and would be another one by then.
        self._definitions[name] = defined(tool)
        if isinstance(tool, Personal):
            self.personal[name] = tool
        if isinstance(tool, Informed):
            self._informed[name] = tool

    def with_page(self, page: Page) -> "Toolbox":
        """These tools, and those that a page brings. Of two with one name, ours or the first is there."""
        both = Toolbox()
        both._validators, both._definitions = self._validators, dict(self._definitions)
        both.personal = self.personal
        both._informed = self._informed
        asked = (frozenset(page.private), frozenset(page.consequential), frozenset(page.sending), dict(page.names))
        both.update({spec.name: OnPage(spec, *asked) for spec in reversed(page.tools)} | self)
        return both

    def definition(self, name: str) -> str:
        """The hash of what the tool is. Of a page's it is worked out when somebody may consent to it."""
        if name not in self._definitions:
            self._definitions[name] = definition_hash(self[name])
        return self._definitions[name]

    def informed(self, name: str, facts: CallFacts | None) -> Tool:
        """The tool for a call of which this is known."""
        tool = self._informed.get(name)
        return self[name] if tool is None else tool.informed(facts or NO_FACTS)

    def prepare(self, name: str, args: object, facts: CallFacts | None = None) -> dict[str, JSON]:
        """The arguments in canonical form, checked by schema and by the tool itself. Raises ValidationError."""
        if name not in self:
            raise ValidationError(f"there is no tool {name!r} any more; reject the call instead")
        if not isinstance(args, dict):
            raise ValidationError(f"expected an object of arguments, found {type(args).__name__}")
        tool = self.informed(name, facts)
        if isinstance(tool, OnPage):
            known = self._outside.get(name) or self._outside.setdefault(name, Outside.of(tool.spec.input_schema))
            checked = known.checked(cast("dict[str, JSON]", args))
        else:
            require_few(cast("dict[str, JSON]", args))
            checked = cast("dict[str, JSON]", normal(args))
            require_bounded(checked, tool.spec.input_schema)
            if not self._validators[name].is_valid(checked):
                schemas.check(self._validators[name], checked, tool.spec.input_schema)
        # What the model asked for stays as it was, whatever the tool does with what it is given.
        checked = dict(checked) if checked is args else checked
        prepared = tool.prepare(checked)
        return checked if prepared is checked else cast("dict[str, JSON]", normal(prepared))
