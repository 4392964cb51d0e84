/** Keys by their names, with the numbers that older code goes by. */

import { emit } from "./events";
import { Refusal } from "./refusal";

export interface Key {
  readonly key: string;
  readonly code: string;
  readonly keyCode: number;
  /** What the key types, alone; empty for keys that type nothing. */
  readonly text: string;
  readonly shiftKey: boolean;
  readonly ctrlKey: boolean;
  readonly altKey: boolean;
  readonly metaKey: boolean;
}

const NAMED: Readonly<Record<string, number>> = {
  Backspace: 8,
  Tab: 9,
  Enter: 13,
  Escape: 27,
  PageUp: 33,
  PageDown: 34,
  End: 35,
  Home: 36,
  ArrowLeft: 37,
  ArrowUp: 38,
  ArrowRight: 39,
  ArrowDown: 40,
  Delete: 46,
};
const OTHER_NAMES: Readonly<Record<string, string>> = {
  esc: "Escape",
  return: "Enter",
  del: "Delete",
  up: "ArrowUp",
  down: "ArrowDown",
  left: "ArrowLeft",
  right: "ArrowRight",
  space: " ",
  spacebar: " ",
};
const MODIFIERS = {
  shift: "shiftKey",
  control: "ctrlKey",
  ctrl: "ctrlKey",
  alt: "altKey",
  meta: "metaKey",
} as const;
const MARKS: Readonly<Record<string, readonly [string, number]>> = {
  "-": ["Minus", 189],
  "=": ["Equal", 187],
  ",": ["Comma", 188],
  ".": ["Period", 190],
  "/": ["Slash", 191],
  ";": ["Semicolon", 186],
  "'": ["Quote", 222],
  "[": ["BracketLeft", 219],
  "]": ["BracketRight", 221],
  "\\": ["Backslash", 220],
  "`": ["Backquote", 192],
};

/** `Enter`, `a`, `Shift+Tab`. Throws a Refusal for what is no key. */
export function keyOf(name: string): Key {
  const parts = name.length > 1 ? name.split("+") : [name];
  // `Control++` ends in the plus itself.
  if (name.endsWith("++")) parts.splice(-2, 2, "+");
  const last = parts.pop() ?? "";
  const held = { shiftKey: false, ctrlKey: false, altKey: false, metaKey: false };
  for (const part of parts) {
    const modifier = MODIFIERS[part.toLowerCase() as keyof typeof MODIFIERS];
    if (!modifier) throw unknown(name);
    held[modifier] = true;
  }
  const key = OTHER_NAMES[last.toLowerCase()] ?? named(last) ?? last;
  if ([...key].length !== 1 && !(key in NAMED)) throw unknown(name);
  const isTyping = [...key].length === 1 && !held.ctrlKey && !held.altKey && !held.metaKey;
  return {
    key,
    ...placeOf(key),
    text: isTyping ? key : "",
    ...held,
    shiftKey: held.shiftKey || isCapital(key),
  };
}

/** Tell the element of a key. False where the page prevented what the key would do. */
export function emitKey(target: Element, type: "keydown" | "keypress" | "keyup", key: Key): boolean {
  const charCode = key.key === "Enter" ? 13 : (key.text.codePointAt(0) ?? 0);
  const keyCode = type === "keypress" ? charCode : key.keyCode;
  const { text: _, ...named } = key;
  return emit(target, "KeyboardEvent", type, {
    bubbles: true,
    cancelable: true,
    composed: true,
    ...named,
    keyCode,
    which: keyCode,
    charCode: type === "keypress" ? charCode : 0,
  });
}

function named(text: string): string | undefined {
  return Object.keys(NAMED).find((name) => name.toLowerCase() === text.toLowerCase());
}

function placeOf(key: string): { code: string; keyCode: number } {
  const number = NAMED[key];
  if (number !== undefined) return { code: key, keyCode: number };
  if (key === " ") return { code: "Space", keyCode: 32 };
  const upper = key.toUpperCase();
  if (/^[A-Z]$/.test(upper)) return { code: `Key${upper}`, keyCode: upper.charCodeAt(0) };
  if (/^[0-9]$/.test(key)) return { code: `Digit${key}`, keyCode: key.charCodeAt(0) };
  const [code, keyCode] = MARKS[key] ?? ["", 0];
  return { code, keyCode };
}

function isCapital(key: string): boolean {
  return /^[A-Z]$/.test(key);
}

function unknown(name: string): Refusal {
  const names = Object.keys(NAMED).join(", ");
  return new Refusal(
    `expected one character, Space or one of ${names}, with Shift+, Control+, Alt+ or Meta+ before it; found "${name.slice(0, 40)}"`,
  );
}
