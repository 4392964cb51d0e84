import type { BlockView, DocumentView, RunbookLine, RunbookRunView } from "@pollux/protocol";
import { describe, expect, test } from "vitest";
import { freeName, newId, withAgent } from "../src/pages/runbooks/adding";
import { Board } from "../src/pages/runbooks/board";
import { MOST, plain, Tail } from "../src/pages/runbooks/plain-text";
import { wordOfBlock } from "../src/pages/runbooks/states";
import { missingIn, wantedBy } from "../src/pages/runbooks/variables";

const NONE = { readFiles: false, writeFiles: false, executeCommands: false, alwaysAllowTools: false };

function block(type: string, name: string, props: Record<string, unknown> = {}, line = 1): BlockView {
  return {
    id: name,
    type,
    name,
    props: { name, ...props },
    content: "",
    line,
    depth: 0,
    runs: true,
    agent: null,
  };
}

function document(form: "atrb" | "json", source: string, blocks: BlockView[]): DocumentView {
  return {
    ...{
      ok: true,
      path: "a",
      source,
      form,
      digest: "d",
      trusted: false,
      editable: true,
      id: "i",
      name: "n",
      programs: [],
      programsDigest: "",
    },
    ...{ version: 1, blocks, warnings: [], error: "" },
  };
}

describe("output", () => {
  test("has no colours, no cursors and no titles", () => {
    expect(plain("\u001b[1;31mred\u001b[0m \u001b]0;title\u0007x\u001b[2K\u001b(B")).toBe("red x");
  });
  test("shows what a line that was written over came to", () => {
    expect(plain("10%\r50%\r100%\r\ndone\r")).toBe("100%\ndone");
  });
  test("loses half an escape sequence at its end, which goes on in the next piece", () => {
    expect(plain("a\u001b[3")).toBe("a");
  });
  test("keeps only its end, from the beginning of a line", () => {
    const tail = new Tail();
    for (let line = 0; line < 20_000; line++) tail.add(`line ${line}\n`);
    expect(tail.text.length).toBeLessThanOrEqual(MOST);
    expect(tail.text.startsWith("line ")).toBe(true);
    expect(tail.text.endsWith("line 19999\n")).toBe(true);
    expect(tail.isCut).toBe(true);
  });
});

const started = (blockId: string, within?: string): RunbookLine => ({
  type: "blockStarted",
  data: {
    ...{ blockId, name: blockId, blockType: "script", startedAt: 1_800_000_000.5 },
    lifecycle: { type: "started" as const },
    ...(within && { within }),
  },
});
const said = (blockId: string, stdout: string, within?: string): RunbookLine => ({
  type: "blockOutput",
  data: { blockId, stdout, ...(within && { within }) },
});
const finished = (blockId: string, success: boolean, within?: string): RunbookLine => ({
  type: "blockFinished",
  data: {
    ...{ blockId, name: blockId, blockType: "script", success, code: "", error: success ? "" : "exit 1" },
    ...{ seconds: 1, lifecycle: { type: "finished" as const }, object: { combined: "x" } },
    ...(within && { within }),
  },
});

describe("the board", () => {
  test("knows each block's state and output", () => {
    const board = new Board("run_1");
    board.read(started("one"), 5);
    board.read(said("one", "a"), 6);
    board.read(said("one", "b"), 7);
    expect(board.places.get("one")).toMatchObject({ state: "running", since: 5, isOurs: true });
    expect(board.places.get("one")?.output.text).toBe("ab");
    board.read(finished("one", false), 8);
    expect(board.places.get("one")).toMatchObject({ state: "failed", since: null });
  });
  test("shows nothing twice when the stream begins again, which tells what was shown once more", () => {
    const board = new Board("run_1");
    board.read(started("one"), 5);
    board.read(said("one", "before "), 6);
    board.restart();
    board.read(started("one"));
    board.read(said("one", "before "));
    board.read(said("one", "after"), 9);
    expect(board.places.get("one")?.output.text).toBe("before after");
  });
  test("knows of a block that began before anybody looked since when it is running", () => {
    const board = new Board("run_1");
    board.read(started("one"));
    expect(board.places.get("one")?.since).toBe(1_800_000_000_500);
  });
  test("knows that what an earlier go did is not its own", () => {
    const board = new Board("", false);
    board.read(finished("one", false));
    expect(board.places.get("one")).toMatchObject({ state: "failed", isOurs: false });
  });
  test("begins afresh with a block that runs again", () => {
    const board = new Board("run_2");
    board.read(finished("one", false), 1);
    board.read(started("one"), 3);
    expect(board.places.get("one")).toMatchObject({ state: "running", finished: null });
  });
  test("shows a runbook inside another as one block", () => {
    const board = new Board("run_1");
    board.read(started("part"), 1);
    board.read(started("inner", "part"), 2);
    board.read(said("inner", "hello\n", "part"), 3);
    board.read(finished("inner", true, "part"), 4);
    expect([...board.places.keys()]).toEqual(["part"]);
    expect(board.places.get("part")?.output.text).toBe("▶ inner\nhello\n✓ inner\n");
  });
  test("ends with its own run, and not with a part or an earlier go", () => {
    const over = (runId: string): RunbookLine => ({
      type: "runbookFinished",
      data: { runId, status: "completed", code: "", error: "", summary: "" },
    });
    const board = new Board("run_2");
    board.read(over("run_1"));
    expect(board.ending).toBeNull();
    board.read(over("run_2"), 1);
    expect(board.ending?.status).toBe("completed");
  });
});

test("every status of an agent has a word and a sign of its own", () => {
  const statuses = [
    ...(["idle", "initializing", "waiting", "streaming", "pendingToolApproval", "executingTool"] as const),
    ...(["completed", "failed", "cancelled", "timedOut"] as const),
  ];
  const words = statuses.map((status) => wordOfBlock(status === "idle" ? "pending" : "running", status));
  expect(new Set(words.map((word) => word.text)).size).toBe(10);
  expect(new Set(words.map((word) => word.sign)).size).toBe(10);
});

function stopped(at: BlockView, error: string): RunbookRunView {
  const next = {
    ...{ id: at.id, type: at.type, name: at.name, state: "next" as const, outputs: [], code: "", error: "" },
    ...{ seconds: null, startedAt: null, agent: null },
  };
  return {
    ...{ ok: true, runId: "run_1", threadId: "thr_1", runbookId: "i", name: "n", path: "a", digest: "d" },
    ...{ trusted: true, state: "failed", code: "block_failed", error, summary: "", createdAt: "" },
    ...{ blocks: [next], approvals: [] },
  };
}

describe("what a run that stopped asks for", () => {
  const go = block("script", "go", { code: "echo {{ var.who }} {{ var.at }} {{ var.made }}" });
  const blocks = [block("var", "made"), block("dropdown", "where", { fixedOptions: "A:a, B:b" }), go];
  const asked = (error: string, at = go) =>
    missingIn(stopped(at, error), blocks).map(({ name, isNeeded }) => [name, isNeeded]);
  test("is the value that was missing, and may be the others of the same block", () => {
    const expected = [["who", true], ["at", false]]; // biome-ignore format: one pair each.
    expect(asked("the template cannot be rendered: line 1: `var.who` is undefined. var has 'made'")).toEqual(
      expected,
    );
    expect(asked("the template cannot be rendered: line 1: `var['who']` is undefined.")).toEqual(expected);
    expect(asked("`shellquote` needs a value, found none.")).toEqual([
      ["who", false],
      ["at", false],
    ]);
  });
  test("is a choice where it was one", () => {
    const [where, ...others] = missingIn(
      stopped(blocks[1] as BlockView, "nothing is chosen for where. Choose: --var where=VALUE"),
      blocks,
    );
    expect(where).toMatchObject({ name: "where", isNeeded: true });
    expect(where?.choices?.map(({ value }) => value)).toEqual(["a", "b"]);
    expect(others).toEqual([]);
  });
  test("is the one that was missing also where the document has changed since", () => {
    expect(missingIn(stopped(go, "`var.who` is undefined"), []).map(({ name }) => name)).toEqual(["who"]);
  });
  test("is nothing where it stopped for another reason", () => {
    expect(asked("verb must be one of GET, found 'X'")).toEqual([]);
    expect(asked("`env.who` is undefined. env has nothing")).toEqual([]);
  });
});

describe("what a document asks for", () => {
  test("is its choices, a person's own variables, and names that nothing sets", () => {
    const wanted = wantedBy([
      block("dropdown", "where", { fixedOptions: "Here:local, There:remote" }),
      block("local-var", "token"),
      block("var", "set", { value: "{{ var.where }}" }),
      block("script", "go", { code: 'echo {{ var.set }} {{ var["who"] }} {% if var.when %}x{% endif %}' }),
    ]);
    expect(wanted.map(({ name, isNeeded }) => [name, isNeeded])).toEqual([
      ["where", true],
      ["token", true],
      ["who", false],
      ["when", false],
    ]);
    expect(wanted[0]?.choices).toEqual([
      { label: "Here", value: "local" },
      { label: "There", value: "remote" },
    ]);
  });
  test("is nothing where a choice was made before and only a command would tell the others", () => {
    const [wanted] = wantedBy([
      block("dropdown", "host", { optionsType: "command", commandOptions: "ls", value: "a" }),
    ]);
    expect(wanted).toMatchObject({ choices: null, value: "a", isNeeded: false });
  });
});

describe("a new agent", () => {
  const agent = { id: "new", name: "agent", timeout: 300, capabilities: { ...NONE, readFiles: true } };
  const SOURCE =
    "id: i\ncontent:\n  - id: one\n    type: script\n    props: {}\n  - id: two\n    type: script\n";
  const blocks = [block("script", "one", {}, 3), block("script", "two", {}, 6)];

  test("comes behind the block that is named, and every other line stays", () => {
    const made = withAgent(document("atrb", SOURCE, blocks), agent, "one") ?? "";
    const lines = made.split("\n");
    expect(lines.slice(0, 5)).toEqual(SOURCE.split("\n").slice(0, 5));
    expect(lines[5]).toBe("  - id: new");
    expect(lines.slice(-3)).toEqual(["  - id: two", "    type: script", ""]);
  });
  test("comes at the end, before a key that follows the blocks", () => {
    const made = withAgent(document("atrb", `${SOURCE}name: last\n`, blocks), agent) ?? "";
    expect(made.indexOf("- id: new")).toBeGreaterThan(made.indexOf("- id: two"));
    expect(made.endsWith("    children: []\nname: last\n")).toBe(true);
  });
  test("has no place in a list that is written in one line", () => {
    expect(withAgent(document("atrb", "content: [{id: one}]\n", [block("script", "one")]), agent)).toBeNull();
  });
  test("comes into JSON too", () => {
    const source = JSON.stringify({ content: [{ id: "one" }, { id: "two" }] });
    const made = JSON.parse(withAgent(document("json", source, blocks), agent, "one") ?? "");
    expect(made.content.map((each: { id: string }) => each.id)).toEqual(["one", "new", "two"]);
    expect(made.content[1].props.capabilities.readFiles).toBe(true);
  });
  test("has a name and an id that nothing else has", () => {
    expect(freeName([{ name: "agent" }, { name: "agent 2" }])).toBe("agent 3");
    expect(newId()).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });
});
