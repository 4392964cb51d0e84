import type { PendingView } from "@pollux/protocol";
import { describe, expect, it, vi } from "vitest";
import { lookalikesIn } from "../src/pages/approvals/lookalikes";
import {
  agentOf,
  listed,
  type Question,
  strangersOf,
  timeLeft,
  titleOf,
  wholePreview,
} from "../src/pages/approvals/question";
import { gone, merged } from "../src/pages/approvals/queue";

// The widget, whose words for invisible characters these use, wants to be an element.
vi.hoisted(() => Object.assign(globalThis, { HTMLElement: class {} }));

const asked = (more: Partial<PendingView> = {}): PendingView => ({
  ...{ id: "apr_1", tool: "demo_mail", reason: "", preview: "E-mail to bob", args: {}, argsHash: "h" },
  ...{ expiresAt: "2026-11-16T06:00:10.000Z", subjects: [], provenance: ["user"], scopes: [] },
  ...{
    runId: "run_1",
    actionId: "act_1",
    threadId: "thr_1",
    prompt: "",
    createdAt: "2026-11-16T06:00:00.000Z",
    truncated: false,
  },
  ...more,
});
const at = (number: number) => asked({ id: `apr_${number}`, createdAt: `2026-11-16T06:00:0${number}.000Z` });
const same = (question: Question) => question;
const ids = (questions: readonly Question[]) => questions.map(({ id }) => id);

describe("a question in words", () => {
  it("has a line for a title, with nothing invisible in it", () => {
    expect(titleOf(asked({ preview: "E-mail\u202e to bob\n\nHello" }))).toBe("E-mail\\u202e to bob");
    expect(titleOf(asked({ preview: " " }))).toBe("demo_mail");
    expect(titleOf(asked({ preview: "x".repeat(500) }))).toHaveLength(161);
  });

  it("shows the whole preview only where the arguments do not say the same", () => {
    expect(wholePreview(asked())).toBeNull();
    expect(wholePreview(asked({ preview: "E-mail\n\nHello", args: { body: "Hello" } }))).toBeNull();
    expect(wholePreview(asked({ preview: "write x\n+ Hello", args: { body: "Hello" } }))).toBe(
      "write x\n+ Hello",
    );
  });

  it("names strangers whose words were read", () => {
    expect(strangersOf(asked())).toEqual([]);
    const provenance = ["attachment", "page", "tool:fetch", "user", "tool:?"];
    expect(listed(strangersOf(asked({ provenance })))).toBe(
      "an attached file, the web page that was open, what fetch answered and what a tool answered",
    );
  });

  it("names the foreign agent that asks", () => {
    expect(agentOf(asked())).toBeNull();
    expect(agentOf(asked({ tool: "agent_terminal", args: { agent: "todo" } }))).toBe("todo");
  });

  it("has run out where it does not say when", () => {
    const now = Date.parse("2026-11-16T06:00:00.000Z");
    expect(timeLeft(asked(), now)).toBe(10_000);
    expect(timeLeft(asked({ expiresAt: "soon" }), now)).toBe(0);
  });
});

describe("the queue", () => {
  it("keeps its order, and has new ones last", () => {
    const shown = merged([], [at(2), at(1)], same);
    expect(ids(shown)).toEqual(["apr_1", "apr_2"]);
    expect(ids(merged(shown, [at(4), at(3), at(2)], same))).toEqual(["apr_1", "apr_2", "apr_3", "apr_4"]);
  });

  it("is the same where nothing is new", () => {
    const shown = merged([], [at(1)], same);
    expect(merged(shown, [at(1)], same)).toBe(shown);
  });

  it("has a question about other arguments in the place of the old one", () => {
    const latest = (question: Question) =>
      question.id === "apr_1" ? { ...question, id: "apr_9" } : question;
    expect(ids(merged([at(1)], [asked({ id: "apr_9" })], latest))).toEqual(["apr_1"]);
  });

  it("misses what should wait and does not", () => {
    expect(ids(gone([at(1), at(2)], [at(2)], false))).toEqual(["apr_1"]);
    expect(ids(gone([at(1), at(2), at(3)], [at(4), at(2)], true))).toEqual(["apr_3"]);
  });
});

describe("letters that look like others", () => {
  it("are told where they stand among Latin ones, or could be a word of them", () => {
    expect(lookalikesIn("\u0440\u0430ypal@example.com")).toEqual(["\u0440", "\u0430"]);
    expect(lookalikesIn("bob@\u0430\u0440\u0440\u04cf\u0435.com")).toEqual([
      "\u0430",
      "\u0440",
      "\u04cf",
      "\u0435",
    ]);
  });

  it("are left alone in words of their own script", () => {
    for (const name of [
      "иван@example.com",
      "bob@пример.рф",
      "Ωμέγα@example.com",
      "日本@example.com",
      "josé@example.com",
    ])
      expect(lookalikesIn(name)).toEqual([]);
  });
});
