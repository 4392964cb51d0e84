import type { MessageView } from "@pollux/protocol";
import { expect, test } from "vitest";
import { entriesOf, withPage } from "../src/pages/threads/history";

function message(number: number, kind: MessageView["kind"], more: Partial<MessageView> = {}): MessageView {
  return { number, kind, text: "", calls: [], results: [], attachments: [], ...more } as MessageView;
}

const call = (id: string) => ({ id, tool: "add", args: {} });
const result = (id: string, value: number, isError = false) => ({ id, tool: "add", result: value, isError });

test("each call has its own result, also where ids come again", () => {
  const entries = entriesOf([
    message(1, "user", { text: "one" }),
    message(2, "assistant", { calls: [call("c")] }),
    message(3, "tool", { results: [result("c", 1)] }),
    message(4, "user", { text: "two" }),
    message(5, "assistant", { calls: [call("c"), call("d")] }),
    message(6, "tool", { results: [result("c", 2), result("d", 3, true)] }),
    message(7, "assistant", { text: "done" }),
  ]);
  expect(entries.map(({ number }) => number)).toEqual([1, 2, 4, 5, 7]);
  expect(entries.flatMap(({ steps }) => steps.map(({ result, state }) => [result, state]))).toEqual([
    [1, "completed"],
    [2, "completed"],
    [3, "failed"],
  ]);
});

test("a call that was never answered was not done", () => {
  const entries = entriesOf([
    message(1, "assistant", { calls: [call("c")] }),
    message(2, "user", { text: "?" }),
  ]);
  expect(entries[0]?.steps).toMatchObject([{ state: "withdrawn" }]);
});

test("pages are put together in order, each message once", () => {
  const late = { messages: [message(3, "user"), message(4, "assistant")], next: "3" };
  const items = [message(1, "user"), message(2, "assistant"), message(3, "user")];
  const { messages, next } = withPage(late, { ok: true, items, next: null });
  expect(messages.map(({ number }) => number)).toEqual([1, 2, 3, 4]);
  expect(next).toBeNull();
});
