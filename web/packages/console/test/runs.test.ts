import type { Action, JournalLine } from "@pollux/protocol";
import { describe, expect, it } from "vitest";
import { documentName, openingOf } from "../src/pages/runs/document";
import { type Fact, MOST_FACTS, Reader } from "../src/pages/runs/journal";
import { segments, totals } from "../src/pages/runs/spans";
import { storyOf } from "../src/pages/runs/story";

const ACTION: Action = {
  ...{
    id: "act_1",
    call: { id: "c", name: "mail", args: {}, minted: true, type: "tool_call", facts: null },
    turn: 1,
  },
  ...{ tool: "mail", args: { to: "bob" }, args_hash: "", schema_hash: "", decided_at: 3, side_effect: true },
  ...{
    repeat: "once",
    parallel: true,
    where: "here",
    subjects: ["bob"],
    provenance: ["tool:search", "user"],
  },
  ...{
    decision: {
      mode: "require_approval",
      reason: "it writes to people",
      rule: "mail asks",
      grants: [],
      granted_by: [],
    },
    preview: "mail",
  },
  approval: {
    ...{
      id: "apr_1",
      args_hash: "",
      schema_hash: "",
      reason: "",
      preview: "",
      requested_at: 3,
      expires_at: 50,
      scopes: [],
    },
    resolution: null,
  },
  ...{ started: null, handed_over: false, interrupted: false, unhappened: false, note: null, outcome: null },
  ...{ edited_by: "", asker: "", asked: 0, observed: 0, definition: "" },
};

const journal = (...told: [type: string, data: object][]) =>
  told.map(([type, data], index) => ({ type, seq: index + 1, data, cost: 0.5 }) as unknown as Fact);
const MODEL = { epoch: 1, turn: 1, attempt: 1 };
const DECIDED: [string, object] = ["ActionDecided", { epoch: 1, action: ACTION, supersedes: null, at: 3 }];
const titles = (facts: readonly Fact[]) => storyOf(facts).entries.map(({ title }) => title);

describe("the story of a run", () => {
  it("leads to the run that works on an action", () => {
    const fact = {
      type: "ActionHandedOver",
      seq: 1,
      data: { action_id: "act_1", at: 2 },
      childRunId: "run_2",
    };
    const [entry] = storyOf([fact as unknown as Fact]).entries;
    expect(entry?.links).toEqual([{ label: "The run that works on it", href: "#/runs/run_2" }]);
  });

  it("tells how long the model, the person and the tool took", () => {
    const story = storyOf(
      journal(
        ["ModelCalled", { ...MODEL, at: 1 }],
        ["ModelFailed", { ...MODEL, kind: "overloaded", message: "busy", retry_at: 2.5, at: 2 }],
        DECIDED,
        [
          "ApprovalResolved",
          { approval_id: "apr_1", decision: "approved", by: "ada", feedback: "", scope: "always", at: 13 },
        ],
        ["ActionStarted", { epoch: 1, action_id: "act_1", attempt: 1, deadline: null, at: 14 }],
        ["ActionCompleted", { epoch: 1, action_id: "act_1", attempt: 1, result: { sent: true }, at: 16 }],
        ["RunCompleted", { at: 17 }],
      ),
    );
    expect(story.entries.map(({ title, took }) => [title, took])).toEqual([
      ["The model is asked", undefined],
      ["The model gave no answer: it is overloaded", 1000],
      ["mail needs a person's approval", undefined],
      ["ada approved mail", 10_000],
      ["mail begins", undefined],
      ["mail is done", 2000],
      ["The run is completed", 16_000],
    ]);
    expect(story.entries[3]?.note).toBe("Also always for these recipients.");
    expect(totals(segments(story.spans, story.began, story.ended ?? 0))).toEqual([
      ["model", 1000],
      ["tool", 2000],
      ["person", 10_000],
      ["rest", 3000],
    ]);
  });

  it("says why, by which rule, for whom, and whose words the model had read", () => {
    const entry = storyOf(journal(DECIDED)).entries[0];
    expect(entry?.note).toBe("The policy: it writes to people.");
    expect(Object.fromEntries(entry?.facts ?? [])).toMatchObject({
      ...{ Rule: "mail asks", For: "bob", "Words came from": "the tool search, the user" },
    });
  });

  it("sees from the clock that nobody answered in time", () => {
    expect(titles(journal(DECIDED, ["TimeReached", { at: 60 }])).at(-1)).toBe(
      "Nobody answered in time: mail is not done",
    );
  });

  it("says what a crash leaves behind, and who found out", () => {
    const facts = journal(
      ["RunClaimed", { epoch: 1, driver: "one", at: 0 }],
      DECIDED,
      ["ActionStarted", { epoch: 1, action_id: "act_1", attempt: 1, deadline: null, at: 4 }],
      ["RunClaimed", { epoch: 2, driver: "two", at: 9 }],
      [
        "ActionReconciled",
        { epoch: 2, action_id: "act_1", outcome: "unknown", detail: "look there", result: null, at: 9 },
      ],
      ["RunFailed", { code: "outcome_unknown", message: "unsure", connect_url: "", at: 10 }],
      ["ActionSettled", { action_id: "act_1", outcome: "done", by: "ada", at: 99 }],
    );
    const story = storyOf(facts);
    expect(story.entries[3]).toMatchObject({ tone: "warn", title: "Another process takes it up" });
    expect(story.entries[4]).toMatchObject({ tone: "bad", title: "Nobody knows whether mail happened" });
    expect(story.entries[6]?.title).toBe("ada found out: mail happened");
    expect(story.ended).toBe(10_000);
  });

  it("says of an answer that it is incomplete, and of one that was cut that it was", () => {
    const reply = (cut: boolean): [string, object] => [
      "ModelReplied",
      { ...MODEL, stop: "length", message: { role: "assistant", parts: [], cut }, usage: {}, at: 1 },
    ];
    expect(titles(journal(reply(false), reply(true)))).toEqual([
      "The answer reached the output limit and is incomplete",
      "The answer was longer than its limit. It was cut and is incomplete",
    ]);
  });

  it("shows what it does not know without failing", () => {
    expect(titles(journal(["SomethingNew", { at: 1 }]))).toEqual([
      "Something that this console does not know yet",
    ]);
  });
});

describe("where the time went", () => {
  it("counts a moment once, for the model first", () => {
    const pieces = segments(
      [
        { kind: "person", from: 0, to: null },
        { kind: "model", from: 2, to: 4 },
      ],
      0,
      10,
    );
    expect(pieces).toEqual([
      { kind: "person", from: 0, to: 2 },
      { kind: "model", from: 2, to: 4 },
      { kind: "person", from: 4, to: 10 },
    ]);
  });

  it("is nothing where no time went by", () => expect(segments([], 5, 5)).toEqual([]));
});

describe("the reader of a journal", () => {
  const fact = (seq: number, type = "ModelCalled") => ({ type, seq, data: { at: seq } }) as JournalLine;

  it("takes each fact once, however often it is told", () => {
    const reader = new Reader();
    for (const seq of [1, 2, 2, 1, 3]) reader.read(fact(seq));
    expect(reader.journal.facts.map(({ seq }) => seq)).toEqual([1, 2, 3]);
  });

  it("forgets the text on its way when its turn is over or begins anew", () => {
    const reader = new Reader();
    reader.read({ type: "delta", delta: "Hel" } as JournalLine);
    reader.read({ type: "turn_restarted", turn: 1 });
    reader.read({ type: "delta", delta: "Hello" } as JournalLine);
    expect(reader.journal.text).toBe("Hello");
    reader.read(fact(1, "ModelReplied"));
    expect(reader.journal.text).toBe("");
  });

  it("bears a journal that does not end", () => {
    const reader = new Reader();
    for (let seq = 1; seq <= 3 * MOST_FACTS; seq += 1) reader.read(fact(seq));
    const { facts, leftOut } = reader.journal;
    expect(facts.length).toBeLessThanOrEqual(MOST_FACTS + 501);
    expect(facts.length + leftOut).toBe(3 * MOST_FACTS);
    expect([facts[0]?.seq, facts.at(-1)?.seq]).toEqual([1, 3 * MOST_FACTS]);
  });
});

describe("a document as a prompt", () => {
  const opening = (source: string) => JSON.stringify({ type: "pollux-runbook", source, path: "/a/b.atrb" });

  it("is named, whatever its form, and also where only its beginning is there", () => {
    const json = opening('{"id": "x", "name": "Nightly \u00fcber", "content": []}');
    const yaml = opening("id: x\nname: Nightly run\nversion: 1\n");
    expect([documentName(json), documentName(json.slice(0, 80))]).toEqual([
      "Nightly \u00fcber",
      "Nightly \u00fcber",
    ]);
    expect(documentName(yaml)).toBe("Nightly run");
    expect(openingOf(yaml)).toMatchObject({ name: "Nightly run", path: "/a/b.atrb" });
  });

  it("is told from what people ask", () => {
    expect(documentName('my name: "Ada"')).toBeNull();
    expect(documentName('{"type":"pollux-runbook","source":"')).toBe("");
  });
});
