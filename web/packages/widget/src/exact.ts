/** Arguments for a person to judge: nothing invisible in them, and nothing that turns text around. */

import type { Json } from "@pollux/client";

/** Controls, all that Unicode wants ignored where it is not known, ends of lines, notes, the blank that is no space, and
halves of characters. */
const INVISIBLE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this is about.
  /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\p{Default_Ignorable_Code_Point}\u2028\u2029\ufff9-\ufffb\u2800\p{Surrogate}]/gu;
const PICTURE = /\p{Extended_Pictographic}$/u;
/** Asks for the coloured form of a sign. Behind a picture it says nothing; elsewhere it makes two words of one. */
const COLOURED = "\ufe0f";

/** Text whose invisible characters are spelt out. Lines stay lines. */
export function visible(text: string): string {
  return text.replace(INVISIBLE, (character, at: number) =>
    character === COLOURED && PICTURE.test(text.slice(Math.max(0, at - 2), at))
      ? character
      : character.split("").map(spelt).join(""),
  );
}

/** One half of a character, or all of a short one, as JSON spells it. */
function spelt(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** JSON, indented. Our own, because a page may have given its arrays and strings a `toJSON`. */
export function exact(value: Json, indent = ""): string {
  if (typeof value === "string") {
    return `"${visible(value.replace(/["\\]/g, "\\$&").replace(/\n/g, "\\n"))}"`;
  }
  if (value === null || typeof value !== "object") return String(value);
  const within = `${indent}  `;
  const isList = Array.isArray(value);
  const lines = isList
    ? value.map((item) => within + exact(item, within))
    : Object.keys(value).map((name) => `${within}${exact(name)}: ${exact(value[name] ?? null, within)}`);
  const [open, close] = isList ? "[]" : "{}";
  return lines.length === 0 ? `${open}${close}` : `${open}\n${lines.join(",\n")}\n${indent}${close}`;
}

const PLAIN = /^[\p{L}\p{M}\p{N}_$@-]+( [\p{L}\p{M}\p{N}_$@-]+)*$/u;

/** Arguments as a table: a row for each value, named by the way that leads to it. */
export function rows(value: Json, name = ""): [name: string, text: string][] {
  if (typeof value === "string") return [[name, visible(value)]];
  if (value === null || typeof value !== "object") return [[name, String(value)]];
  if (Array.isArray(value)) {
    if (value.length === 0) return [[name, "[]"]];
    return value.flatMap((item, index) => rows(item, `${name}[${index + 1}]`));
  }
  const names = Object.keys(value);
  if (names.length === 0) return [[name, "{}"]];
  return names.flatMap((key) => rows(value[key] ?? null, nameOf(key, name)));
}

/** A key that could be taken for a way, or for nothing, is quoted: no two values have the same name. */
function nameOf(key: string, name: string): string {
  if (!PLAIN.test(key) || visible(key) !== key) return name ? `${name}[${exact(key)}]` : exact(key);
  return name ? `${name}.${key}` : key;
}

/** Time that is left, as minutes and seconds. */
export function remaining(milliseconds: number): string {
  const seconds = Math.max(0, Math.ceil(milliseconds / 1000));
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60)];
  const tail = String(seconds % 60).padStart(2, "0");
  return hours > 0 ? `${hours}:${String(minutes).padStart(2, "0")}:${tail}` : `${minutes}:${tail}`;
}
