import { expect, test } from "vitest";
// The server's tests go by the same names.
import names from "../../../../tests/core/private_names.json";
import { namesSecret } from "../src/private";
import { MASK, Secrets } from "../src/secrets";

test.each(names.secret)("a field called %s holds a secret", (name) => {
  expect(namesSecret(name)).toBe(true);
  expect(namesSecret(name.normalize("NFD"))).toBe(true);
});

test.each(names.open)("a field called %s holds none", (name) => {
  expect(namesSecret(name)).toBe(false);
});

const holding = (...values: string[]): Secrets => {
  const secrets = new Secrets();
  for (const value of values) secrets.add(value);
  return secrets;
};

test.each([
  ["hunter22", "It was hunter22, hunter22!", `It was ${MASK}, ${MASK}!`],
  ["hunter22", "hunter2 and Hunter22", "hunter2 and Hunter22"],
  ["abc", "abc", "abc"],
  ["4111 1111 1111 1111", "4111111111111111", MASK],
  ["4111111111111111", "with 4111 1111-1111.1111.", `with ${MASK}.`],
  ["4111111111111111", "41111111 and 11111111", "41111111 and 11111111"],
  ["12345678", "tel 1-2-3-4-5-6-7-8-9", `tel ${MASK}-9`],
  ["a+b(c", "a+b(c)", `${MASK})`],
])("what was %s is not told in %s", (secret, text, told) => {
  expect(holding(secret).without(text)).toBe(told);
});

test("the longest of those that begin alike is taken out", () => {
  expect(holding("sunshine", "sunshine99").without("sunshine99 sunshine")).toBe(`${MASK} ${MASK}`);
});

test("what is only begun to be written in a field is no secret of its own", () => {
  const [secrets, field] = [new Secrets(), {} as Element];
  for (const value of ["suns", "sunshin", "sunshine1", "sunshine", ""]) secrets.note(field, value);
  expect(secrets.without("sunshine1 in sunshine")).toBe(`${MASK} in sunshine`);
  secrets.note(field, "another one");
  expect(secrets.without("sunshine1, another one")).toBe(`${MASK}, ${MASK}`);
});

test("many secrets take no longer than a few", () => {
  const secrets = holding(...Array.from({ length: 5_000 }, (_, n) => `secret ${n}`));
  const before = performance.now();
  for (let n = 0; n < 2_000; n++)
    secrets.without(`A line of words that says nothing of any of them, number ${n}`);
  expect(performance.now() - before).toBeLessThan(3_000);
  expect(secrets.without("It is secret 4711!")).toBe(`It is ${MASK}!`);
});
