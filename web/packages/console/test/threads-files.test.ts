import { expect, test } from "vitest";
import { type Picked, picked, sizeOf } from "../src/pages/threads/files";

const file = (name: string, size: number, type = "") => new File([new Uint8Array(size)], name, { type });
const refusals = (before: readonly Picked[], ...files: File[]) => picked(before, files).refused;
const MB = 1 << 20;

test("types are known by what the browser says, else by how the name ends", () => {
  const { all } = picked(
    [],
    [file("a.png", 1, "image/png"), file("NOTES.MD", 1), file("x.csv", 1, "application/vnd.ms-excel")],
  );
  expect(all.map(({ mimeType }) => mimeType)).toEqual(["image/png", "text/markdown", "text/csv"]);
});

test("what cannot be sent is refused before it is, and says why", () => {
  expect(refusals([], file("a.exe", 1))).toEqual(["a.exe is of a type that models do not take."]);
  expect(refusals([], file("a.txt", 0))).toEqual(["a.txt is empty."]);
  expect(refusals([], file("a.txt", 6 * MB))).toEqual(["a.txt has 6 MB; one file may have 5 MB."]);
});

test("nor may there be too many, or too much in all", () => {
  const eight = picked(
    [],
    Array.from({ length: 8 }, (_, index) => file(`${index}.txt`, 1)),
  ).all;
  expect(refusals(eight, file("9.txt", 1))).toEqual(["9.txt is one too many; 8 may go with a message."]);
  const five = picked([], [file("a.txt", 5 * MB)]).all;
  expect(refusals(five, file("b.txt", 4 * MB))).toEqual(["b.txt does not fit; all together may have 8 MB."]);
  expect(picked(five, [file("c.txt", 3 * MB)]).all).toHaveLength(2);
});

test("names are one line, and short enough to be sent", () => {
  const long = `${"n".repeat(300)}.txt`;
  const names = picked([], [file(long, 1), file("a\nb\u202e.txt", 1)]).all.map(({ name }) => name);
  expect(names[0]).toHaveLength(200);
  expect(names[0]).toMatch(/n\.txt$/);
  expect(names[1]).toBe("ab.txt");
});

test("sizes are said as people say them", () => {
  expect([640, 2048, 5 * MB, 3.4 * MB].map(sizeOf)).toEqual(["640 B", "2 KB", "5 MB", "3.4 MB"]);
});
