import type { Action, JournalLine } from "@pollux/protocol";
import { expect, test } from "vitest";
import { isResting, questionsOf, type Story, stepsOf, storyOf, told } from "../src/pages/threads/story";

const CALL = {
  type: "tool_call",
  id: "c1",
  name: "mail",
  args: { to: "bob" },
  minted: false,
  facts: null,
} as const;

function action(more: Partial<Action> = {}): Action {
  return {
    ...{ id: "act_1", call: CALL, turn: 1, tool: "mail", args: { to: "bob" }, args_hash: "h1" },
    ...{ schema_hash: "s", decided_at: 2, side_effect: true, repeat: "keyed", parallel: true, where: "here" },
    decision: {
      mode: "require_approval",
      reason: "side effects",
      rule: "default",
      grants: [],
      granted_by: [],
    },
    ...{ subjects: ["bob"], provenance: ["user"], preview: "Mail to bob", started: null, outcome: null },
    approval: {
      ...{ id: "apr_1", args_hash: "h1", schema_hash: "s", reason: "side effects", preview: "Mail to bob" },
      ...{ requested_at: 2, expires_at: 100, resolution: null, scopes: [] },
    },
    ...{ handed_over: false, interrupted: false, unhappened: false, note: null, edited_by: "" },
    ...{ asker: "", asked: 0, observed: 0, definition: "" },
    ...more,
  };
}

/** A fact of the journal; those that these stories leave out do not matter to them. */
function fact(seq: number, type: string, data: object): JournalLine {
  return { type, seq, data } as unknown as JournalLine;
}

const STARTED = fact(1, "RunStarted", {
  ...{ run_id: "run_1", head: 4, profile: "default", at: 1 },
  prompt: { role: "user", parts: [{ type: "text", text: "mail bob" }], pinned: false },
});
const CALLED = fact(2, "ModelCalled", { epoch: 1, turn: 1, attempt: 1, at: 1 });
const replied = (seq: number, turn: number, ...parts: object[]) =>
  fact(seq, "ModelReplied", { turn, attempt: 1, message: { role: "assistant", parts, pinned: false } });
const ASKED = [
  STARTED,
  CALLED,
  replied(3, 1, CALL),
  fact(4, "ActionDecided", { action: action(), supersedes: null, at: 2 }),
];

const all = (...lines: readonly JournalLine[]): Story => lines.reduce(told, storyOf("run_1"));
const text = (story: Story) => story.turns.map((turn) => turn.text);

test("text on its way is put together, and the answer takes its place", () => {
  const going = all(
    STARTED,
    CALLED,
    { type: "delta", delta: "Hel", turn: 1, offset: 0 },
    { type: "thought_delta", delta: "hm", turn: 1, offset: 0 },
    { type: "delta", delta: "lo", turn: 1, offset: 3 },
  );
  expect(text(going)).toEqual(["Hello"]);
  expect(going.turns[0]).toMatchObject({ thoughts: "hm", isOpen: true });
  const whole = told(going, replied(3, 1, { type: "text", text: "Hello!" }));
  expect(text(whole)).toEqual(["Hello!"]);
  expect(whole.turns[0]).toMatchObject({ thoughts: "hm", isOpen: false });
});

test("what is told again after a broken connection is not said twice, also after an emoji", () => {
  const story = all(
    STARTED,
    CALLED,
    { type: "delta", delta: "👋🏽 you", turn: 1, offset: 0 },
    { type: "delta", delta: "👋🏽 you there", turn: 1, offset: 0 },
    CALLED,
    { type: "delta", delta: "!", turn: 1, offset: 12 },
  );
  expect(text(story)).toEqual(["👋🏽 you there!"]);
});

test("an answer that begins anew drops what was shown of it", () => {
  const begun = all(STARTED, CALLED, { type: "delta", delta: "wrong", turn: 1, offset: 0 });
  expect(text(told(begun, { type: "turn_restarted", turn: 1 }))).toEqual([""]);
  // Whoever was away meanwhile is told by the journal.
  expect(text(told(begun, fact(3, "ModelCalled", { turn: 1, attempt: 2 })))).toEqual([""]);
});

test("a call becomes a question, an action and a result", () => {
  const asked = all(...ASKED);
  expect(questionsOf(asked).map(({ question }) => question)).toMatchObject([
    { id: "apr_1", argsHash: "h1", args: { to: "bob" }, expiresAt: "1970-01-01T00:01:40.000Z" },
  ]);
  expect(isResting(asked)).toBe(true);
  const approved = told(asked, fact(5, "ApprovalResolved", { approval_id: "apr_1", decision: "approved" }));
  expect(isResting(approved)).toBe(false);
  const started = told(approved, fact(6, "ActionStarted", { action_id: "act_1", at: 3 }));
  expect(stepsOf(started)).toMatchObject([{ state: "executing", startedAt: 3 }]);
  const done = told(
    started,
    fact(7, "ActionCompleted", { action_id: "act_1", result: { sent: true }, at: 4 }),
  );
  expect(stepsOf(done)).toMatchObject([{ state: "completed", result: { sent: true }, endedAt: 4 }]);
  expect(questionsOf(done)).toEqual([]);
});

test("a rejection keeps what was said with it", () => {
  const line = fact(5, "ApprovalResolved", {
    approval_id: "apr_1",
    decision: "rejected",
    feedback: "not now",
  });
  expect(stepsOf(all(...ASKED, line))).toMatchObject([{ state: "rejected", message: "not now" }]);
});

test("edited arguments take the place of those that were asked about", () => {
  const other = action({ id: "act_1e", args: { to: "eve" }, args_hash: "h2" });
  const edited = all(...ASKED, fact(5, "ActionDecided", { action: other, supersedes: "act_1", at: 3 }));
  expect(stepsOf(edited)).toMatchObject([{ args: { to: "eve" }, state: "asked" }]);
});

test("a question whose time has passed has run out", () => {
  expect(stepsOf(all(...ASKED, fact(5, "TimeReached", { at: 99 })))).toMatchObject([{ state: "asked" }]);
  expect(stepsOf(all(...ASKED, fact(5, "TimeReached", { at: 100 })))).toMatchObject([{ state: "expired" }]);
});

test("a run that was stopped leaves no question open", () => {
  const stopped = all(
    ...ASKED,
    fact(5, "CancelRequested", { by: "ada" }),
    fact(6, "RunCancelled", { at: 9 }),
  );
  expect(stepsOf(stopped)).toMatchObject([{ state: "withdrawn" }]);
  expect(stopped.ending).toMatchObject({ state: "cancelled", at: 9 });
});

test("nobody knows what became of an action until somebody says so", () => {
  const begun = all(...ASKED, fact(5, "ActionStarted", { action_id: "act_1", at: 3 }));
  const unknown = told(begun, fact(6, "ActionReconciled", { action_id: "act_1", outcome: "unknown", at: 4 }));
  expect(stepsOf(unknown)).toMatchObject([{ state: "failed", code: "outcome_unknown" }]);
  const settled = told(unknown, fact(7, "ActionSettled", { action_id: "act_1", outcome: "done", at: 5 }));
  expect(stepsOf(settled)).toMatchObject([{ state: "completed", code: "" }]);
});

test("a call that a foreign agent makes by itself is shown where it was made", () => {
  const own = action({ id: "act_1_1", call: { ...CALL, id: "c2" }, asker: "act_1" });
  const story = all(...ASKED, fact(5, "ActionDecided", { action: own, supersedes: null, at: 3 }));
  expect(stepsOf(story).map(({ id }) => id)).toEqual(["c1", "c2"]);
});

test("lines that nobody here knows change nothing but the number", () => {
  const story = all(...ASKED);
  expect(told(story, fact(5, "SomethingNew", {}))).toEqual({ ...story, seq: 5 });
  expect(told(story, { type: "news" } as unknown as JournalLine)).toBe(story);
});

test("what a tool shows is kept within bounds", () => {
  const begun = all(...ASKED, fact(5, "ActionStarted", { action_id: "act_1", at: 3 }));
  const line: JournalLine = {
    type: "tool_output",
    actionId: "act_1",
    stream: "stdout",
    text: "x".repeat(3000),
  };
  const [step] = stepsOf(told(told(begun, line), { ...line, text: "end" }));
  expect(step?.output.endsWith("xend")).toBe(true);
  expect(stepsOf([line, line, line].reduce(told, begun))[0]?.output.length).toBe(4000);
});
