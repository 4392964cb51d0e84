"""What the store suite works with: a run's story told commit by commit, and one sample of every event."""

from dataclasses import replace
from typing import Any

from pollux.core.canonical import digest
from pollux.core.events import (
    ActionCompleted,
    ActionDecided,
    ActionFailed,
    ActionHandedOver,
    ActionNoted,
    ActionReconciled,
    ActionSettled,
    ActionStarted,
    ApprovalResolved,
    CallRefused,
    CancelRequested,
    Event,
    HistoryCompressed,
    ModelCalled,
    ModelFailed,
    ModelReplied,
    PageShown,
    RunCancelled,
    RunClaimed,
    RunCompleted,
    RunFailed,
    RunRestored,
    RunStarted,
    TimeReached,
    ToolObserved,
)
from pollux.core.ids import ActionId, ApprovalId, GrantId, RunId, ThreadId, UserId
from pollux.core.machine import conclude, step
from pollux.core.messages import Blob, FileRef, Message, Native, Text, Thought, ToolCall, ToolResult, Usage, user
from pollux.core.page import Page
from pollux.core.policy import Decision, Grant, Rule, Scope
from pollux.core.profile import Limits
from pollux.core.run import (
    Action,
    Approval,
    Compressed,
    Outcome,
    Parent,
    Resolution,
    Run,
    Start,
    action_id,
    approval_id,
    asked_id,
)
from pollux.core.thread import (
    MessagesImported,
    Thread,
    ThreadCompressed,
    ThreadErased,
    ThreadEvent,
    ThreadOpened,
    ThreadRenamed,
    step_thread,
)
from pollux.core.tools import ToolSpec
from pollux.engine.browser_session import BrowserSession
from pollux.engine.ledger import change_of
from pollux.engine.ports import Change, Store

NOON = 1000.0
ADA, BOB = UserId("ada"), UserId("bob")


class Story:
    """One thread and one run in it. Each step commits, and remembers what the store should now hold."""

    def __init__(
        self,
        name: str,
        *,
        owner: UserId = ADA,
        at: float = NOON,
        parent: Parent | None = None,
        model: str = "scripted",
        tokens: int | None = None,
    ) -> None:
        self.thread = step_thread(
            None, ThreadOpened(thread_id=ThreadId(f"thr_{name}"), user=owner, title=f"about {name}", at=at)
        )
        self.run_id = RunId(f"run_{name}")
        self.at = at
        self.parent = parent
        self.model = model
        self.limits = Limits(tokens=tokens)
        self.thread_events: tuple[ThreadEvent, ...] = ()
        self.events: tuple[Event, ...] = ()
        self._run: Run | None = None

    @property
    def run(self) -> Run:
        assert self._run is not None
        return self._run

    def began(self, prompt: str | Message = "hello", *, deadline: float | None = None) -> RunStarted:
        return RunStarted(
            run_id=self.run_id,
            thread_id=self.thread.id,
            user=self.thread.user,
            door="http",
            origin="test",
            profile="default",
            model=self.model,
            prompt=user(prompt) if isinstance(prompt, str) else prompt,
            limits=self.limits,
            deadline=deadline,
            parent=self.parent,
            head=self.thread.head,
            at=self.at,
        )

    def change(self, *events: Event) -> Change:
        """What these events mean for the store, with the ending that follows from them."""
        run = self._run
        for event in events:
            run = step(run, event)
        assert run is not None
        ending = conclude(run, self.at)
        if ending:
            run, events = step(run, ending), (*events, ending)
        opening = self.opening() if self._run is None and self.thread.head == 0 else ()
        return change_of(self._run, run, events, thread=self.thread, thread_events=opening)

    def opening(self) -> tuple[ThreadEvent, ...]:
        """How the thread began."""
        thread = self.thread
        return (ThreadOpened(thread_id=thread.id, user=thread.user, title=thread.title, at=thread.created_at),)

    def take(self, change: Change) -> None:
        """The store accepted it."""
        self._run = change.run
        self.thread = change.thread or self.thread
        self.events = (*self.events, *change.events)
        self.thread_events = (*self.thread_events, *change.thread_events)

    async def commit(self, store: Store, *events: Event) -> None:
        change = self.change(*events)
        await store.commit(change)
        self.take(change)

    async def start(self, store: Store, prompt: str | Message = "hello", *, deadline: float | None = None) -> "Story":
        """Begin, be claimed and call the model, in one commit."""
        claimed = RunClaimed(epoch=1, driver="drv_test", at=self.at)
        called = ModelCalled(epoch=1, turn=1, attempt=1, at=self.at)
        await self.commit(store, self.began(prompt, deadline=deadline), claimed, called)
        return self

    async def answer(self, store: Store, text: str = "hello yourself") -> None:
        """The model answers, and the run ends."""
        await self.commit(store, self.replied(Message("assistant", (Text(text),))))

    async def ask(self, store: Store, **args: Any) -> Action:
        """The model wants to send a mail, and a person is asked."""
        call = ToolCall("c1", "send_mail", args)
        action = question(self.run, call, at=self.at)
        await self.commit(
            store,
            self.replied(Message("assistant", (call,))),
            ActionDecided(epoch=self.run.epoch, action=action, at=self.at),
        )
        return action

    def allowed(self, given: Grant) -> Change:
        """The model wants to send a mail, and a grant allows it."""
        call = ToolCall("c1", "send_mail", {})
        decision = Decision("allow", "granted", "default", grants=(given.id,), granted_by=(given.user,))
        action = replace(question(self.run, call, at=self.at), decision=decision, approval=None)
        decided = ActionDecided(epoch=self.run.epoch, action=action, at=self.at)
        return self.change(self.replied(Message("assistant", (call,))), decided)

    async def resolve(self, store: Store, action: Action, *, scope: Scope | None = None) -> None:
        assert action.approval
        await self.commit(
            store,
            ApprovalResolved(approval_id=action.approval.id, decision="approved", by="ada", scope=scope, at=self.at),
        )

    async def execute(self, store: Store, action: Action, result: Any = "sent") -> None:
        epoch = self.run.epoch
        await self.commit(store, ActionStarted(epoch=epoch, action_id=action.id, attempt=1, at=self.at))
        await self.commit(
            store, ActionCompleted(epoch=epoch, action_id=action.id, attempt=1, result=result, at=self.at)
        )

    async def ask_for(self, store: Store, asker: Action, **args: Any) -> Action:
        """A tool begins its work, an agent in it does something by itself, and asks for a mail."""
        epoch, at = self.run.epoch, self.at
        action = question_of(self.run, asker, args, at=at)
        await self.commit(store, ActionStarted(epoch=epoch, action_id=asker.id, attempt=1, at=at))
        await self.commit(
            store,
            ToolObserved(
                epoch=epoch, action_id=asker.id, tool="agent:read", title="read it", status="completed", at=at
            ),
            ActionDecided(epoch=epoch, action=action, at=at),
        )
        return action

    async def finish(self, store: Store, text: str = "done") -> None:
        """Call the model once more and end with its answer."""
        run = self.run
        await self.commit(store, ModelCalled(epoch=run.epoch, turn=run.turn, attempt=run.attempt, at=self.at))
        await self.answer(store, text)

    def replied(self, message: Message) -> ModelReplied:
        run = self.run
        stop = "tool_calls" if message.calls else "end"
        usage = Usage(input=10, output=5)
        return ModelReplied(
            epoch=run.epoch,
            turn=run.turn,
            attempt=run.attempt,
            message=message,
            stop=stop,
            usage=usage,
            at=self.at,
        )


async def tell_all(store: Store, story: Story, **args: Any) -> Action:
    """A run with one approved side effect, from beginning to end."""
    await story.start(store)
    action = await story.ask(store, **args)
    await story.resolve(store, action)
    await story.execute(store, action)
    await story.finish(store)
    return action


def thread_change(thread: Thread | None, *events: ThreadEvent, messages: tuple[Message, ...] = ()) -> Change:
    """A change of a thread alone."""
    after = thread
    for event in events:
        after = step_thread(after, event)
    first = (thread.head if thread else 0) + 1
    return Change(thread=after, thread_events=events, first_message=first, messages=messages)


def question_of(run: Run, asker: Action, args: dict[str, Any], *, at: float = NOON) -> Action:
    """The action that asks a person about the first call that another one asks for."""
    call, name = ToolCall(f"{asker.call.id}-1", "send_mail", args), asked_id(asker.id, 1)
    return replace(question(run, call, at=at, name=name), asker=asker.id)


def question(run: Run, call: ToolCall, *, at: float = NOON, name: ActionId | None = None) -> Action:
    """The action that asks a person about a call."""
    action = name or action_id(run.id, run.turn, 0)
    args_hash, schema_hash = digest(call.args), digest("schema")
    approval = Approval(approval_id(action), args_hash, schema_hash, "it acts", "a mail", at, at + 300)
    return Action(
        id=action,
        call=call,
        turn=run.turn,
        tool=call.name,
        args=call.args,
        args_hash=args_hash,
        schema_hash=schema_hash,
        decided_at=at,
        side_effect=True,
        decision=Decision("require_approval", "it acts", "default"),
        subjects=("bob@example.org",),
        preview="a mail",
        approval=approval,
    )


def grant(name: str, *, owner: UserId = ADA, thread_id: ThreadId | None = None) -> Grant:
    """A grant for one recipient."""
    scope: Scope = "session" if thread_id else "always"
    return Grant(GrantId(f"gnt_{name}"), owner, "send_mail", f"{name}@example.org", scope, NOON, thread_id)


def browser_session(
    name: str, *, user: UserId = ADA, created_at: float = NOON, expires_at: float = NOON + 3600
) -> BrowserSession:
    """A browser that somebody signed in with a token."""
    return BrowserSession(f"ses_{name}", user, f"digest-{name}", "token", "mark", "user", created_at, expires_at)


# One sample of every event, with every field set to something that is not its default.

_CALL = ToolCall("c1", "send_mail", {"to": ["bob@example.org"], "n": 1.5, "deep": {"é": None}}, minted=True)
_MESSAGE = Message(
    "assistant",
    (
        Text("text with é, 🙂 and \u2028"),
        Thought("hm"),
        Blob("image/png", bytes(range(256)), "dot.png"),
        FileRef("text/plain", "files/1"),
        _CALL,
        ToolResult("c0", "look", {"found": [1, True, None]}, is_error=True),
    ),
    Native("gemini", '{"parts": [ {"thoughtSignature":"A+/="} ]}'),
    pinned=True,
)
_COMPRESSED = Compressed(3, user("summary"), 40)
_ACTION = Action(
    id=ActionId("act_1_1.0"),
    call=_CALL,
    turn=2,
    tool="send_mail",
    args=_CALL.args,
    args_hash="a" * 64,
    schema_hash="b" * 64,
    decided_at=NOON,
    side_effect=True,
    repeat="keyed",
    parallel=False,
    where="page",
    decision=Decision("require_approval", "it acts", "rule"),
    subjects=("bob@example.org", "eve@example.org"),
    provenance=("web",),
    preview="a mail",
    approval=Approval(
        ApprovalId("apr_1_1.0"), "a" * 64, "b" * 64, "it acts", "a mail", NOON, NOON + 300,
        Resolution("approved", NOON + 1, "ada", "go on", "session"),
    ),
    started=Start(1, 2, NOON + 2, NOON + 60),
    handed_over=True,
    interrupted=True,
    unhappened=True,
    outcome=Outcome("failed", {"error": "gone"}, NOON + 3, "page_gone", "gone"),
    edited_by="ada",
    asker="act_1_0.0",
    asked=3,
    observed=2,
)  # fmt: skip

_PAGE = Page(
    "There is a button.",
    (ToolSpec("click", "Click on something", {"type": "object"}, True, "not_required", "once", False, "page", 5.0),),
)
EVERY_EVENT: tuple[Event, ...] = (
    RunStarted(
        run_id=RunId("run_all"),
        thread_id=ThreadId("thr_all"),
        user=ADA,
        door="http",
        origin="test",
        profile="mail",
        model="scripted",
        prompt=_MESSAGE,
        limits=Limits(3, 1000, 60.5, 300.0, 30.0, 500),
        on_reject="fail",
        interactive=False,
        deadline=NOON + 60,
        parent=Parent(RunId("run_p"), ActionId("act_p_1.0"), RunId("run_r")),
        head=7,
        compressed=_COMPRESSED,
        context_tokens=99,
        instructions="be brief",
        rules=(Rule("deny", tool="mail", subjects=("*@rival.example",), reason="never"), Rule("allow", args="^a")),
        request="c" * 64,
        page=_PAGE,
        keep_seconds=600.5,
        at=NOON,
    ),
    PageShown(page=_PAGE, at=NOON),
    RunClaimed(epoch=1, driver="drv_1", at=NOON),
    ModelCalled(epoch=1, turn=2, attempt=3, at=NOON),
    ModelReplied(
        epoch=1, turn=2, attempt=3, message=_MESSAGE, stop="other", usage=Usage(1, 2, 3, 4), reason="WHY", detail="so",
        at=NOON,
    ),
    ModelFailed(epoch=1, turn=2, attempt=3, kind="internal", message="broke", retry_at=NOON + 2, at=NOON),
    ActionDecided(epoch=1, action=_ACTION, supersedes=ActionId("act_1_0.0"), at=NOON),
    CallRefused(epoch=1, call_id="c1", code="invalid_args", message="no recipient", at=NOON),
    CallRefused(epoch=1, call_id="c1", code="auth_error", message="connect", connect_url="/connect", at=NOON),
    ActionStarted(epoch=1, action_id=ActionId("act_1_1.0"), attempt=1, deadline=NOON + 9, at=NOON),
    ActionNoted(epoch=1, action_id=ActionId("act_1_1.0"), attempt=1, note={"draft": "d1"}, at=NOON),
    ToolObserved(
        epoch=1, action_id=ActionId("act_1_1.0"), tool="agent:read", title="read notes.txt", status="failed", at=NOON
    ),
    ActionHandedOver(epoch=1, action_id=ActionId("act_1_1.0"), attempt=1, at=NOON),
    ActionCompleted(epoch=1, action_id=ActionId("act_1_1.0"), attempt=1, result={"id": 5, "ok": [True]}, at=NOON),
    ActionCompleted(epoch=1, action_id=ActionId("act_1_1.0"), attempt=1, result=None, at=NOON),
    ActionCompleted(epoch=1, action_id=ActionId("act_1_1.0"), attempt=1, result=["a", ["b"]], at=NOON),
    ActionCompleted(epoch=1, action_id=ActionId("act_1_1.0"), attempt=1, result="", sources=("web",), at=NOON),
    ActionCompleted(epoch=1, action_id=ActionId("act_1_1.0"), attempt=1, result={"$": "no reference"}, at=NOON),
    ActionFailed(epoch=1, action_id=ActionId("act_1_1.0"), attempt=1, code="tool_error", message="no", at=NOON),
    ActionFailed(epoch=1, action_id=ActionId("act_1_1.0"), attempt=1, code="x", message="", sources=("web",), at=NOON),
    ActionReconciled(epoch=1, action_id=ActionId("act_1_1.0"), outcome="done", result="found", at=NOON),
    ActionSettled(action_id=ActionId("act_1_1.0"), outcome="not_done", by="ada", at=NOON),
    ApprovalResolved(
        approval_id=ApprovalId("apr_1_1.0"), decision="rejected", by="ada", feedback="not now", scope="always", at=NOON
    ),
    HistoryCompressed(
        epoch=1, turn=2, status="compressed", tokens_before=90, tokens_after=40, compressed=_COMPRESSED,
        usage=Usage(5, 6), at=NOON,
    ),
    TimeReached(at=NOON + 0.25),
    CancelRequested(by="ada", reason="superseded", at=NOON),
    RunRestored(by="ada", at=NOON),
    RunCompleted(at=NOON),
    RunFailed(code="loop_limit", message="the run reached its limit", at=NOON),
    RunCancelled(at=NOON),
)  # fmt: skip

EVERY_THREAD_EVENT: tuple[ThreadEvent, ...] = (
    ThreadOpened(
        thread_id=ThreadId("thr_each"), user=ADA, title="about each", forked_from=ThreadId("thr_old"), at=NOON
    ),
    MessagesImported(messages=(_MESSAGE, user("and another")), at=NOON),
    ThreadRenamed(title="something else", at=NOON),
    ThreadCompressed(run_id=RunId("run_1"), compressed=_COMPRESSED, at=NOON),
    ThreadErased(by="ada", at=NOON),
)
