/** What the model is never told: passwords, card numbers, one-time codes, and what the page marks as private. */

import { childNodesOf, labelsOf } from "./dom";
import { parentOf, rootsOf } from "./frames";

export const MASK = "[private]";

const MARK = "data-agent-private";
const SECRET_KIND = /^(current-password|new-password|one-time-code|cc-.+)$/;
/** For forms that do not say so: the names that such fields are given all over the world. */
const SECRET_NAME =
  /(^|[-_. ])(pass(word|wd|code|phrase)|pwd|cvc2?|cvv2?|csc|card[-_ ]?(number|num|no)|cc[-_ ]?(num|number|cvc|csc|exp)|otp|one[-_ ]?time[-_ ]?(code|password)|security[-_ ]?code|pin([-_ ]?code)?|ssn)($|[-_. \d[\]])/i;

/** `marked` is for those who ask for many of them: `isMarked` as it is remembered. */
export function isPrivate(element: Element, marked = isMarked): boolean {
  return isSecretField(element) || marked(element);
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
  const mark = element.getAttribute(MARK);
  return mark === null ? undefined : mark !== "false";
}

/** What an element says, without what is marked in it. */
export function toldText(element: Element): string {
  if (isMarked(element)) return MASK;
  if (!element.querySelector(`[${MARK}]`)) return element.textContent ?? "";
  let text = "";
  for (const node of childNodesOf(element)) {
    if (node.nodeType === 3) text += (node as Text).data;
    else if (node.nodeType === 1) text += toldText(node as Element);
  }
  return text;
}

/** Whether this very element begins a part that is marked. */
export function hasMark(element: Element): boolean {
  return ownMark(element) === true;
}

function isSecretField(element: Element): boolean {
  if (!/^(input|textarea|select)$/.test(element.localName)) return false;
  const field = element as HTMLInputElement;
  if (field.type === "password" || wasPassword.has(field)) {
    // Shown as plain text by the page's eye button it is a password all the same.
    wasPassword.add(field);
    return true;
  }
  const kinds = (element.getAttribute("autocomplete") ?? "").toLowerCase().split(/\s+/);
  if (kinds.some((kind) => SECRET_KIND.test(kind))) return true;
  if (/^(button|submit|reset|image|checkbox|radio|hidden)$/.test(field.type)) return false;
  return [field.name, field.id].some((name) => namesSecret(String(name ?? "")));
}

/** Whether a field of this name holds what is private. */
export function namesSecret(name: string): boolean {
  return SECRET_NAME.test(words(name));
}

const wasPassword = new WeakSet<Element>();

function words(name: string): string {
  return name.replace(/([a-z0-9])([A-Z])/g, "$1-$2");
}

/** What stands in the private fields that could be part of this element's name. */
export function secretsNear(element: Element, marked = isMarked): string[] {
  const secrets: string[] = [];
  for (const each of [element, ...namersOf(element)]) {
    secrets.push(...secretOf(each, marked));
    if (!each.firstElementChild) continue;
    for (const field of each.querySelectorAll("input, textarea")) secrets.push(...secretOf(field, marked));
  }
  return secrets;
}

/** The elements that say what another one is called. */
export function namersOf(element: Element): Element[] {
  const namers = [...labelsOf(element)];
  const ids = element.getAttribute("aria-labelledby");
  if (!ids) return namers;
  const root = element.getRootNode() as Document | ShadowRoot;
  for (const id of ids.split(/\s+/)) {
    const other = id ? root.getElementById?.(id) : null;
    if (other) namers.push(other);
  }
  return namers;
}

/** What stands in all private fields of a page, also in those that it does not show at the moment. */
export function secretsIn(page: Document): string[] {
  const found = new Set<string>();
  for (const root of rootsOf(page))
    for (const field of root.querySelectorAll("input, textarea"))
      for (const secret of secretOf(field)) found.add(secret);
  return [...found];
}

/** A text without these. Numbers are the same number however they are spaced. */
export function without(secrets: readonly string[], text: string): string {
  let told = text;
  for (const secret of secrets) {
    told = told.replaceAll(secret, MASK);
    const digits = secret.replace(/[\s.-]/g, "");
    if (/^\d{8,}$/.test(digits)) told = told.replace(new RegExp([...digits].join("[\\s.-]?"), "g"), MASK);
  }
  return told;
}

/** Short ones are no secrets, and would be found everywhere. */
export function secretOf(element: Element, marked = isMarked): string[] {
  const { localName } = element;
  if (localName !== "input" && localName !== "textarea") return [];
  const value = (element as HTMLInputElement).value.replace(/\s+/g, " ").trim();
  return value.length > 3 && isPrivate(element, marked) ? [value] : [];
}
