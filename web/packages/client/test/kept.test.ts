import { expect, test } from "vitest";
import { Keeper, newId, subjectOf } from "../src/kept";
import type { Shelf } from "../src/types";

function shelf(most = Number.POSITIVE_INFINITY) {
  const items = new Map<string, string>();
  const made: Shelf & { items: Map<string, string> } = {
    items,
    getItem: (key) => items.get(key) ?? null,
    setItem: (key, value) => {
      if (value.length > most) throw new DOMException("full", "QuotaExceededError");
      items.set(key, value);
    },
    removeItem: (key) => {
      items.delete(key);
    },
  };
  return made;
}

const message = (content: string) => ({ id: newId(), role: "user" as const, content, timestamp: "" });

test("what was kept is found again", () => {
  const place = shelf();
  const history = '[{"n":1.0,"t":"\\u2028"}]';
  new Keeper(place, "k", "").change({ history, lastText: "hi", messages: [message("hi")] });
  expect(new Keeper(place, "k", "").kept).toMatchObject({
    history,
    lastText: "hi",
    messages: [{ content: "hi" }],
  });
  expect(new Keeper(place, "other", "").kept.messages).toEqual([]);
});

test.each([
  "",
  "null",
  "1",
  "{",
  '{"version":2}',
  '{"version":1,"id":"x","history":"[]","messages":[],"step":{}}',
  '{"version":1,"id":"x","history":"[]","messages":[{"role":"oracle"}],"step":{"kind":"idle"}}',
])("%s is no record, and is taken away", (text) => {
  const place = shelf();
  place.items.set("k", text);
  expect(new Keeper(place, "k", "").kept).toMatchObject({ history: "[]", step: { kind: "idle" } });
  expect(place.items.size).toBe(0);
});

test("nobody finds what another person said, and everybody finds their own", () => {
  const place = shelf();
  new Keeper(place, "k", "iss ada").change({ lastText: "a secret" });
  for (const who of ["iss bob", "", "iss"]) expect(new Keeper(place, "k", who).kept.lastText).toBe("");
  expect(new Keeper(place, "k", "iss ada").kept.lastText).toBe("a secret");
});

test("a record that names somebody else is not shown and not kept", () => {
  const place = shelf();
  new Keeper(place, "k", "").change({ who: "iss ada", lastText: "a secret" });
  expect(new Keeper(place, "k", "").kept.lastText).toBe("");
  expect(place.items.size).toBe(0);
});

test("a full shelf loses what was said long ago first, and never holds what is not true any more", () => {
  const place = shelf(3_000);
  const keeper = new Keeper(place, "k", "");
  const messages = Array.from({ length: 100 }, (_, n) => message(`message ${n}`));
  keeper.change({ messages });
  expect(new Keeper(place, "k", "").kept.messages.map(({ content }) => content)).toEqual(
    messages.slice(-20).map(({ content }) => content),
  );
  expect(keeper.kept.messages).toHaveLength(100);
  keeper.change({ history: "x".repeat(4_000) });
  expect(place.items.size).toBe(0);
});

test("a shelf that throws at everything is no shelf", () => {
  const fail = () => {
    throw new DOMException("no", "SecurityError");
  };
  const keeper = new Keeper({ getItem: fail, setItem: fail, removeItem: fail }, "k", "");
  keeper.change({ lastText: "hi" });
  keeper.forget();
  expect(keeper.kept.lastText).toBe("");
});

test("a site's token is told apart by whom it names, not by when it was made", () => {
  const token = (claims: object, tail: string) =>
    `h.${btoa(JSON.stringify(claims)).replaceAll("=", "")}.${tail}`;
  const ada = token({ iss: "shop", sub: "ada", iat: 1 }, "s1");
  expect(subjectOf(token({ iss: "shop", sub: "ada", iat: 2 }, "s2"))).toBe(subjectOf(ada));
  expect(subjectOf(token({ iss: "shop", sub: "bob" }, "s3"))).not.toBe(subjectOf(ada));
  expect(subjectOf(token({ iss: "shop ada", sub: "x" }, "s1"))).not.toBe(
    subjectOf(token({ iss: "shop", sub: "ada x" }, "s1")),
  );
  expect(subjectOf(token({ iss: "shop" }, "s1"))).not.toBe(subjectOf(token({ iss: "shop" }, "s2")));
  expect(subjectOf("nonsense-with-a-tail")).not.toBe(subjectOf(undefined));
});
