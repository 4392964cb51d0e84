/**
 * Which controls have consequences beyond the page: they pay, order, send, publish or delete. The visitor is asked before
 * one is pressed. It is known by what the control says; where that says nothing, by its form or its dialog.
 */

import { ALONE, GENERIC, SIGNS, WORDS } from "./consequence-words";
import { allIn, attributeOf, firstIn, nearest, tagOf, textContentOf } from "./dom";
import { parentOf } from "./frames";
import { natives } from "./natives";

/** What has them: a press, or Enter, which sends the form that a field lies in. */
export type Consequence = "press" | "enter";

/** What is asked of an element while the page is looked at. */
export interface Asked {
  role(element: Element): string;
  name(element: Element): string;
}

const MARK = "data-agent-asks";
const PRESSED = new Set(["button", "link", "menuitem", "img", ""]);
const CHOSEN = new Set(
  (
    "checkbox combobox listbox menuitemcheckbox menuitemradio option radio searchbox slider spinbutton switch tab " +
    "textbox treeitem"
  ).split(" "),
);
/** What is filled in: a mark around it is for what sends it. */
const FILLED = new Set(["textbox", "searchbox", "spinbutton"]);
/** By these a page's scripts do more with a link than follow it. */
const CAUGHT = ["onclick", "data-confirm", "data-turbo-confirm"].concat(
  ["post", "put", "patch", "delete"].flatMap((method) => [`hx-${method}`, `data-hx-${method}`]),
);
/** Words of a name; of a longer one only the first few say what a press does. */
const MOST_WORDS = 8;
const FIRST_WORDS = 3;
const CARD = "[autocomplete~=cc-number], [autocomplete~=cc-csc], [autocomplete~=cc-exp]";
const TITLES = "legend, h1, h2, h3, h4, h5, h6, [role=heading]";

export function consequenceOf(element: Element, asked: Asked): Consequence | null {
  const own = attributeOf(element, MARK);
  if (own !== null) return own === "false" ? null : "press";
  const tag = tagOf(element);
  const isField = (tag === "input" && !isButtonInput(element)) || tag === "textarea";
  const role = asked.role(element);
  const isChosen = CHOSEN.has(role) && !isButton(element, asked);
  const said = saidBy(element);
  if (isChosen && said && !FILLED.has(role)) return "press";
  if (isChosen && !isField) return null;
  if (said === false) return null;
  if (isField)
    return tag === "input" && sendsWithConsequences(element as HTMLInputElement, asked) ? "enter" : null;
  return said || hasConsequences(element, asked) ? "press" : null;
}

/** What the page says of it, or of what it lies in: `data-agent-asks`, and `"false"` that it is harmless. */
function saidBy(element: Element): boolean | null {
  for (let at: Element | null = element; at; at = parentOf(at)) {
    const mark = attributeOf(at, MARK);
    if (mark !== null) return mark !== "false";
  }
  return null;
}

function hasConsequences(element: Element, asked: Asked): boolean {
  // An item of a list has no name of its own.
  const name = asked.name(element) || textContentOf(element).slice(0, 200);
  if (asked.role(element) === "link" && leadsAway(element)) return isExactly(name);
  // What else can be pressed, such as an item of a list, is often called by all that it holds.
  if (!isButton(element, asked) && wordsOf(name).split(" ").length > FIRST_WORDS) return false;
  const wordless = wordsOf(name) === "";
  if (saysConsequence(name) || (wordless && isNamedSo(element))) return true;
  // A label for screen readers takes nothing back of what is written on it.
  if (asked.role(element) === "button" && saysConsequence(textContentOf(element))) return true;
  if (!wordless && !GENERIC_NAMES.has(wordsOf(name))) return false;
  return isInDialogOf(element, asked) || isSending(element, asked);
}

/** A link that opens another page does nothing else, unless the page's scripts say so. */
function leadsAway(link: Element): boolean {
  const href = attributeOf(link, "href") ?? "";
  if (CAUGHT.some((name) => attributeOf(link, name) !== null)) return false;
  const method = attributeOf(link, "data-method") ?? attributeOf(link, "data-turbo-method") ?? "get";
  return href !== "" && !/^(#|javascript:)/i.test(href) && method.toLowerCase() === "get";
}

/** What carries a picture alone is known by what its authors call it. */
function isNamedSo(element: Element): boolean {
  return ["id", "name", "class", "data-action", "data-testid"].some((name) => {
    return isNameOf(attributeOf(element, name) ?? "");
  });
}

/** Whether a name in a page's code, such as `placeOrder`, says so. */
export function isNameOf(name: string): boolean {
  return saysConsequence(name.replace(/([a-z])([A-Z])/g, "$1 $2"));
}

function isInDialogOf(element: Element, asked: Asked): boolean {
  const dialog = nearest(element, "dialog, [role=dialog], [role=alertdialog]");
  return dialog !== null && (saysConsequence(asked.name(dialog)) || isTitled(dialog));
}

/** Whether it sends a form that says what for: by its title, its address, or because it holds a card. */
function isSending(element: Element, asked: Asked): boolean {
  const { form, type } = element as HTMLInputElement;
  return form !== null && /^(submit|image)$/.test(type) && saysWhatFor(form, element, asked);
}

function saysWhatFor(form: HTMLFormElement, element: Element, asked: Asked): boolean {
  const method = firstIn(form, "input[name=_method]");
  if (method && /delete/i.test(attributeOf(method, "value") ?? "")) return true;
  const address = attributeOf(element, "formaction") ?? attributeOf(form, "action") ?? "";
  const path = address
    .replace(/[?#].*$/, "")
    .split("/")
    .slice(-2)
    .join(" ");
  return (
    firstIn(form, CARD) !== null ||
    saysConsequence(path) ||
    saysConsequence(asked.name(form)) ||
    isTitled(form)
  );
}

function isTitled(holder: Element): boolean {
  return allIn(holder, TITLES)
    .slice(0, 5)
    .some((title) => saysConsequence(textContentOf(title)));
}

/** Whether Enter in this field would press a button that has consequences. */
function sendsWithConsequences(field: HTMLInputElement, asked: Asked): boolean {
  return field.form !== null && hasConsequencesAsForm(field.form, asked);
}

/** Whether to send this form has consequences: by its first button, or by itself where it has none. */
export function hasConsequencesAsForm(form: HTMLFormElement, asked: Asked): boolean {
  const button = natives()
    .elementsOf(form)
    .find((each) => /^(submit|image)$/.test((each as HTMLButtonElement).type));
  return button ? consequenceOf(button, asked) === "press" : saysWhatFor(form, form, asked);
}

function isButton(element: Element, asked: Asked): boolean {
  return PRESSED.has(asked.role(element)) || tagOf(element) === "button" || isButtonInput(element);
}

function isButtonInput(element: Element): boolean {
  return (
    tagOf(element) === "input" && /^(submit|button|reset|image)$/.test((element as HTMLInputElement).type)
  );
}

const known = new Map<string, boolean>();

/** Whether a control of this name pays, orders, sends, publishes or deletes. */
export function saysConsequence(name: string): boolean {
  let answer = known.get(name);
  if (answer === undefined) {
    if (known.size > 2_000) known.clear();
    const words = wordsOf(name.slice(0, 200));
    const all = words.split(" ");
    const first = all.length > MOST_WORDS ? all.slice(0, FIRST_WORDS).join(" ") : words;
    answer = SPOKEN.test(first) || ALONE_NAMES.has(words) || (all.length <= MOST_WORDS && SIGNED.test(first));
    known.set(name, answer);
  }
  return answer;
}

function isExactly(name: string): boolean {
  const words = wordsOf(name.slice(0, 200));
  return EXACT.has(words) || (words.length <= MOST_WORDS && SIGNED.test(words));
}

/** Small letters without accents, a space between two words. */
function wordsOf(text: string): string {
  return (
    text
      .toLowerCase()
      .normalize("NFKD")
      // Nor with what only says where a word may be parted.
      .replace(/[\p{M}\p{Cf}]/gu, "")
      .replace(/[^\p{L}\p{N}]+/gu, " ")
      .trim()
  );
}

const SPOKEN = new RegExp(`(?:^| )(?:${WORDS.map(wordsOf).join("|")})(?= |$)`, "u");
const SIGNED = new RegExp(SIGNS.map(wordsOf).join("|"), "u");
const EXACT = new Set(WORDS.map(wordsOf));
const ALONE_NAMES = new Set(ALONE.map(wordsOf));
const GENERIC_NAMES = new Set(GENERIC.map(wordsOf));
