/** What the model is never told: passwords, card numbers, one-time codes, and what the page marks as private. */

import {
  allIn,
  attributeOf,
  byId,
  childNodesOf,
  fieldValue,
  firstElementOf,
  firstIn,
  isElement,
  isText,
  ownerOf,
  rootOf,
  tagOf,
  textContentOf,
} from "./dom";
import { parentOf, rootsOf, topOf } from "./frames";
import { labelsOf } from "./labels";
import { SIGNS, WORDS } from "./private-words";
import { MASK, Secrets } from "./secrets";

export { MASK } from "./secrets";

const MARK = "data-agent-private";
/** Not `new-password`: many sites ask with it for no suggestions. A field for one is of that type, or is called so. */
const SECRET_KIND = /^(current-password|one-time-code|cc-.+)$/;
/** Buttons and boxes hold no secret, whatever they are called. */
const OPEN = /^(button|submit|reset|image|checkbox|radio|hidden)$/;
/** What is written beside a field is its name only where it is short. */
const LONGEST_LABEL = 60;
const MOST_WORDS = 6;
const STAND_INS: Readonly<Record<string, string>> = {
  "0": "o",
  "3": "e",
  "4": "a",
  "5": "s",
  "7": "t",
  "8": "b",
  "@": "a",
  $: "s",
};
const LONG_WORD = 7;

/** What is asked for again and again; a look at the page remembers it. */
export interface Asked {
  isMarked(element: Element): boolean;
  labels(element: Element): readonly Element[];
}

const AFRESH: Asked = { isMarked, labels: labelsOf };

export function isPrivate(element: Element, asked = AFRESH): boolean {
  return isSecretField(element, asked) || asked.isMarked(element);
}

/** Whether the page marked this, or something around it. `data-agent-private="false"` takes it back. */
export function isMarked(element: Element): boolean {
  for (let at: Element | null = element; at; at = parentOf(at)) {
    const own = ownMark(at);
    if (own !== undefined) return own;
  }
  return false;
}

/** What the page says of this element alone; undefined where that goes by what is around it. */
export function ownMark(element: Element): boolean | undefined {
  const mark = attributeOf(element, MARK);
  return mark === null ? undefined : mark !== "false";
}

/** What an element says, without what is marked in it. */
export function toldText(element: Element, asked: Pick<Asked, "isMarked"> = AFRESH): string {
  if (asked.isMarked(element)) return MASK;
  if (!holdsMarked(element)) return textContentOf(element);
  let text = "";
  for (const node of childNodesOf(element)) {
    if (isText(node)) text += node.data;
    else if (isElement(node)) text += toldText(node, asked);
  }
  return text;
}

/** Whether something inside of an element is marked. */
export function holdsMarked(element: Element): boolean {
  return firstIn(element, `[${MARK}]`) !== null;
}

/** Whether this very element begins a part that is marked. */
export function hasMark(element: Element): boolean {
  return ownMark(element) === true;
}

function isSecretField(element: Element, { labels }: Asked): boolean {
  if (!/^(input|textarea|select)$/.test(tagOf(element))) return false;
  const field = element as HTMLInputElement;
  if (field.type === "password" || wasPassword.has(field)) {
    // Shown as plain text by the page's eye button it is a password all the same.
    wasPassword.add(field);
    return true;
  }
  const kinds = (attributeOf(element, "autocomplete") ?? "").toLowerCase().split(/\s+/);
  if (kinds.some((kind) => SECRET_KIND.test(kind))) return true;
  if (OPEN.test(field.type)) return false;
  if (["name", "id"].some((name) => namesSecret(attributeOf(element, name) ?? ""))) return true;
  if (["aria-label", "placeholder"].some((name) => saysSecret(attributeOf(element, name) ?? ""))) return true;
  return labels(element).some((label) => saysSecret(textContentOf(label)));
}

/** Whether a field of this name holds what is private. */
export function namesSecret(name: string): boolean {
  return remembered(named, name, () => {
    const folded = words(name);
    return (
      NAMED.test(folded) || SIGNED.test(folded) || inLetters(name).some((each) => NAMED.test(words(each)))
    );
  });
}

/** The name with letters where something else stands in for them: `p4ssw0rd`. */
function inLetters(name: string): string[] {
  const letters = name.replace(/[034578@$]/g, (sign) => STAND_INS[sign] ?? sign);
  return ["i", "l"].map((letter) => letters.replace(/[1!|]/g, letter));
}

/** Whether this, written beside a field, is the name of what is private. */
function saysSecret(text: string): boolean {
  if (text.length > LONGEST_LABEL) return false;
  return remembered(said, text, () => {
    const folded = words(text);
    if (SIGNED.test(folded)) return true;
    return folded.split("-").length <= MOST_WORDS && (ENDING.test(folded) || LONG.test(folded));
  });
}

const wasPassword = new WeakSet<Element>();

const named = new Map<string, boolean>();
const said = new Map<string, boolean>();

/** Pages have few names, and ask for them with every look. */
function remembered(known: Map<string, boolean>, text: string, ask: () => boolean): boolean {
  let answer = known.get(text);
  if (answer === undefined) {
    if (known.size > 2_000) known.clear();
    answer = ask();
    known.set(text, answer);
  }
  return answer;
}

/** `cardNumber`, `card_number` and `Card number:` are all `card-number`; letters without their accents. */
function words(name: string): string {
  return bare(name.slice(-200).replace(/(\p{Ll}|\p{N})(?=\p{Lu})/gu, "$1-"))
    .replace(/[^\p{L}\p{N}]+/gu, "-")
    .replace(/^-|-$/g, "");
}

function bare(text: string): string {
  return text.toLowerCase().normalize("NFKD").replace(/\p{M}/gu, "");
}

function oneOf(all: readonly string[]): string {
  return `(?:${all.map((word) => bare(word).replaceAll(" ", "-?")).join("|")})`;
}

const NAMED = new RegExp(`(?:^|-)${oneOf(WORDS)}(?=$|-|\\d)`, "u");
const ENDING = new RegExp(`(?:^|-)${oneOf(WORDS)}-?\\d*$`, "u");
const LONG = new RegExp(`(?:^|-)${oneOf(WORDS.filter((word) => word.length >= LONG_WORD))}(?=$|-|\\d)`, "u");
const SIGNED = new RegExp(oneOf(SIGNS), "u");

/** The elements that say what another one is called. */
export function namersOf(element: Element, labels = labelsOf): Element[] {
  const namers = [...labels(element)];
  const ids = attributeOf(element, "aria-labelledby");
  if (!ids) return namers;
  const root = rootOf(element);
  for (const id of ids.split(/\s+/)) {
    const other = id ? byId(root, id) : null;
    if (other) namers.push(other);
  }
  return namers;
}

const ofPages = new WeakMap<Document, Secrets>();

/** What is known to have stood in the private fields of a page. */
export function knownSecrets(page: Document): Secrets {
  const top = topOf(page);
  let known = ofPages.get(top);
  if (!known) {
    known = new Secrets();
    ofPages.set(top, known);
  }
  return known;
}

/** The same, with what stands there now, also in fields that the page does not show at the moment. */
export function secretsIn(page: Document, asked = AFRESH): Secrets {
  const known = knownSecrets(page);
  for (const root of rootsOf(page)) noteIn(root, known, asked);
  return known;
}

/** The same, with what stands now in those fields that could be part of this element's name. */
export function secretsNear(element: Element): Secrets {
  const known = knownSecrets(ownerOf(element));
  for (const each of [element, ...namersOf(element)]) {
    note(each, known, AFRESH);
    if (firstElementOf(each)) noteIn(each, known, AFRESH);
  }
  return known;
}

function noteIn(parent: ParentNode, known: Secrets, asked: Asked): void {
  for (const field of allIn(parent, "input, textarea")) note(field, known, asked);
}

function note(field: Element, known: Secrets, asked: Asked): void {
  if (/^(input|textarea)$/.test(tagOf(field)) && isPrivate(field, asked))
    known.note(field, fieldValue(field));
}
