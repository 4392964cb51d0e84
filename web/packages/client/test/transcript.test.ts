import { expect, test } from "vitest";
import { Transcript } from "../src/transcript";
import type { ChatState } from "../src/types";

const question = {
  ...{ id: "apr_1_2.0", tool: "send_mail", reason: "it sends", preview: "Mail to Bob", args: { to: "bob" } },
  ...{ argsHash: "h", expiresAt: "2030-01-01T00:00:00.000Z", expiresIn: 600, subjects: [], scopes: [] },
};

function transcript(): Transcript {
  const made = new Transcript([], () => 0);
  made.say("user", "hi");
  made.begin();
  return made;
}

function said({ messages }: ChatState): string[] {
  return messages.map(({ content, isStreaming }) => (isStreaming ? `${content}…` : content));
}

test("an answer grows as it is said, and is whole at the end", () => {
  const shown = transcript();
  const seen: string[][] = [];
  shown.subscribe((state) => seen.push(said(state)));
  shown.read({ type: "delta", delta: "Hel" });
  shown.read({ type: "thought_delta", delta: "hm" });
  shown.read({ type: "delta", delta: "lo" });
  shown.answer({ type: "response", message: "Hello.", history: [], runId: "run_1" });
  expect(seen).toEqual([
    ["hi", "Hel…"],
    ["hi", "Hello…"],
    ["hi", "Hello."],
  ]);
  expect(shown.state.messages[1]).toMatchObject({ role: "assistant", timestamp: "1970-01-01T00:00:00.000Z" });
});

test("an answer that is not whole is followed by a note, once", () => {
  const shown = transcript();
  const answer = { message: "Half of", history: [], runId: "run_1", incomplete: true as const };
  for (let told = 0; told < 2; told++) shown.answer({ type: "response", ...answer });
  expect(said(shown.state)).toEqual([
    "hi",
    "Half of",
    "The answer reached the output limit and is incomplete.",
  ]);
  expect(shown.state.messages.at(-1)).toMatchObject({ role: "system", code: "incomplete" });
});

test("an answer that was cut says so", () => {
  const shown = transcript();
  shown.answer({
    ...{ type: "response", message: "Much", history: [], runId: "run_1" },
    ...{ finishReason: "length", incomplete: true, cut: true },
  });
  expect(said(shown.state).at(-1)).toMatch("It was cut and is incomplete.");
});

test("a turn that begins anew drops what was shown of it, and nothing else", () => {
  const shown = transcript();
  shown.read({ type: "delta", delta: "First." });
  shown.read({ type: "tool_call", id: "act_1", toolName: "stock", preview: "Look into the stock" });
  shown.read({ type: "delta", delta: "Seco" });
  shown.read({ type: "turn_restarted", turn: 2 });
  expect(said(shown.state)).toEqual(["hi", "First."]);
  shown.read({ type: "delta", delta: "Second." });
  expect(said(shown.state)).toEqual(["hi", "First.", "Second.…"]);
});

test("an answer told again from its beginning is shown once", () => {
  const shown = transcript();
  const after = shown.last;
  for (let time = 0; time < 2; time++) {
    shown.cutBack(after);
    shown.read({ type: "delta", delta: "First." });
    shown.read({ type: "tool_call", id: "act_1", toolName: "stock", preview: "" });
    shown.read({ type: "delta", delta: "Sec" });
  }
  expect(said(shown.state)).toEqual(["hi", "First.", "Sec…"]);
  expect(shown.state.activity).toHaveLength(1);
});

test("a last turn without words adds none", () => {
  const shown = transcript();
  shown.read({ type: "delta", delta: "I do it." });
  shown.read({ type: "tool_call", id: "act_1", toolName: "stock", preview: "" });
  shown.answer({ type: "response", message: "I do it.", history: [], runId: "run_1" });
  expect(said(shown.state)).toEqual(["hi", "I do it."]);
});

test("what is done is told: by the server, by the page, after a question", () => {
  const shown = transcript();
  for (const id of ["act_1_1.0", "act_1_1.1", "act_1_2.0"]) {
    shown.read({ type: "tool_call", id, toolName: "tool", preview: `do ${id}` });
  }
  const category = "page-automation" as const;
  const call = { id: "act_1_1.1", name: "click", args: { ref: "e7" }, category, expiresIn: 60 };
  shown.owe([call], [question]);
  expect(shown.state.activity).toEqual([
    { id: "act_1_1.0", tool: "tool", text: "do act_1_1.0", status: "done", isOnPage: false },
    { id: "act_1_1.1", tool: "click", text: "do act_1_1.1", status: "running", isOnPage: true, ref: "e7" },
  ]);
  shown.acted(call, true);
  shown.approved(question);
  expect(shown.state.activity.map(({ status }) => status)).toEqual(["done", "failed", "running"]);
  expect(shown.state.activity[2]).toMatchObject({ id: "act_1_2.0", text: "Mail to Bob" });
});

test("a state that was given out does not change", () => {
  const shown = transcript();
  shown.read({ type: "delta", delta: "a" });
  const before = shown.state;
  const copy = structuredClone(before);
  shown.read({ type: "delta", delta: "b" });
  shown.stopped();
  expect(before).toEqual(copy);
});

test("who has stopped it hears nothing more", () => {
  const shown = transcript();
  shown.read({ type: "delta", delta: "Hel" });
  shown.stopped();
  shown.read({ type: "delta", delta: "lo" });
  expect(said(shown.state)).toEqual(["hi", "Hel", "Stopped."]);
  expect(shown.state).toMatchObject({ isLoading: false, approvals: [] });
});

test("who does not listen any more is not told", () => {
  const shown = transcript();
  let told = 0;
  const leave = shown.subscribe(() => {
    told += 1;
  });
  shown.say("system", "one");
  leave();
  shown.say("system", "two");
  expect(told).toBe(1);
});
