import type { BlockView, KnownAgent } from "@pollux/protocol";
import { describe, expect, test } from "vitest";
import { begunAt, completed, matching, namesFor } from "../src/pages/runbooks/agent/completion";
import {
  changed,
  contested,
  draftOf,
  faultsOf,
  INTERNAL,
  OWN,
  pending,
  propsOf,
  registered,
  shownOf,
} from "../src/pages/runbooks/agent/draft";

function block(type: string, name: string, props: Record<string, unknown> = {}): BlockView {
  return {
    ...{ id: name, type, name, props: { name, ...props }, content: "", line: 1, depth: 0, runs: true },
    agent: null,
  };
}

const gemini: KnownAgent = {
  name: "gemini",
  command: "gemini",
  args: ["--acp"],
  description: "",
  isInstalled: true,
};

function agent(
  source: Record<string, unknown>,
  more: Partial<NonNullable<BlockView["agent"]>> = {},
): BlockView {
  const seen =
    source.type === "acp"
      ? { type: "acp" as const, command: String(source.command), args: [], env: {}, ...source }
      : { type: "internal" as const, model: null, maker: null, uri: null };
  return {
    ...block("agent", "report", { source, prompt: "p", capabilities: { readFiles: true, other: true } }),
    agent: {
      ...{ source: seen as NonNullable<BlockView["agent"]>["source"], prompt: "p", systemPrompt: null },
      capabilities: { readFiles: true, writeFiles: false, executeCommands: false, alwaysAllowTools: false },
      ...{ timeoutSeconds: null, workingDirectory: null, ...more },
    },
  };
}

describe("a name in a prompt", () => {
  test.each([
    ["a {{", 4, { from: 2, typed: "" }],
    ["a {{ var.x", 10, { from: 2, typed: "var.x" }],
    ["{{ a }} b", 9, null],
    ["{ {", 3, null],
    ["{{ a\n", 5, null],
    ["{{", 1, null],
  ])("is begun, or is not: %j at %i", (text, caret, begun) => {
    expect(begunAt(text, caret)).toEqual(begun);
  });
  test("is put in place of what was begun, and closes it once", () => {
    const text = "x {{ lo }} y";
    const begun = begunAt(text, 7);
    expect(begun && completed(text, 7, begun, "var.a")).toEqual({ text: "x {{ var.a }} y", caret: 13 });
  });
  const blocks = [
    block("script", "look", { outputVariable: "found" }),
    block("http", "it's"),
    block("agent", "report"),
    block("script", "after"),
  ];
  const names = namesFor(blocks, "report");
  test("can be that of a block before, of a variable, of the workspace", () => {
    const texts = names.map((name) => name.text);
    expect(texts).toContain("doc.named['look'].output.stdout");
    expect(texts).toContain('doc.named["it\'s"].output.body');
    expect(texts).toContain("doc.previous.output.body");
    expect(texts).toContain("var.found");
    expect(texts).toContain("workspace.root");
    expect(texts.join()).not.toContain("after");
  });
  test("is found by any part of it", () => {
    expect(matching(names, "look std").map((name) => name.text)).toEqual([
      "doc.named['look'].output.stdout",
      "doc.named['look'].output.stderr",
    ]);
    expect(matching(names, "var")[0]?.text).toBe("var.found");
  });
});

describe("a draft", () => {
  test("knows its source: our own, one of the registry, or a program", () => {
    expect(draftOf(agent({ type: "internal" }), [gemini]).source).toBe(INTERNAL);
    expect(draftOf(agent({ type: "acp", command: "gemini" }), [gemini]).source).toBe(registered("gemini"));
    expect(draftOf(agent({ type: "acp", command: "/bin/x" }), [gemini])).toMatchObject({
      source: OWN,
      command: "/bin/x",
    });
  });
  test("is written as what has changed, and nothing else", () => {
    const written = agent({ type: "internal" });
    const base = draftOf(written, []);
    expect(propsOf(written, base, { ...base, prompt: "q", timeout: "60" })).toEqual({
      prompt: "q",
      timeoutSeconds: 60,
    });
    expect(propsOf(written, base, { ...base, writeFiles: true })).toEqual({
      capabilities: {
        ...{ readFiles: true, other: true, writeFiles: true },
        ...{ executeCommands: false, alwaysAllowTools: false },
      },
    });
    expect(propsOf(written, base, { ...base, source: registered("gemini"), args: ["-v"] })).toEqual({
      source: { type: "acp", command: "gemini", args: ["-v"], env: {} },
    });
  });
  test("leaves a model its maker", () => {
    const model = { type: "ollama", data: { model: "a", uri: "http://x" } };
    const written = agent({ type: "internal", model });
    const base = { ...draftOf(written, []), model: "a" };
    expect(propsOf(written, base, { ...base, model: "b" })).toEqual({
      source: { type: "internal", model: { type: "ollama", data: { model: "b", uri: "http://x" } } },
    });
    expect(propsOf(written, base, { ...base, model: "" })).toEqual({ source: { type: "internal" } });
  });
  test("keeps what was typed over what somebody else saved, and says where both did", () => {
    const first = draftOf(agent({ type: "internal" }), []);
    let changes = changed(first, {}, "prompt", "mine");
    changes = changed(first, changes, "timeout", "5");
    const theirs = draftOf(agent({ type: "internal" }, { prompt: "theirs", systemPrompt: "new" }), []);
    expect(shownOf(theirs, changes)).toMatchObject({ prompt: "mine", timeout: "5", systemPrompt: "new" });
    expect(contested(theirs, changes)).toEqual(["prompt"]);
    expect(Object.keys(pending({ ...theirs, timeout: "5" }, changes))).toEqual(["prompt"]);
  });
  test("is no change where it is again as it was", () => {
    const base = draftOf(agent({ type: "internal" }), []);
    expect(changed(base, changed(base, {}, "prompt", "x"), "prompt", "p")).toEqual({});
  });
  test("says what is wrong with it", () => {
    const base = draftOf(agent({ type: "acp", command: "x" }), []);
    expect(faultsOf(base)).toEqual([]);
    const wrong = { ...base, command: " ", timeout: "1.5", env: [["A", ""] as const, ["A", ""] as const] };
    expect(faultsOf(wrong)).toHaveLength(3);
  });
});
