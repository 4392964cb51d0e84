/** What the model is never told: passwords, card numbers, one-time codes, and what the page marks as private. */

import { labelsOf } from "./dom";
import { parentOf } from "./frames";

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
  return [field.name, field.id].some((name) => SECRET_NAME.test(words(String(name ?? ""))));
}

const wasPassword = new WeakSet<Element>();

function words(name: string): string {
  return name.replace(/([a-z0-9])([A-Z])/g, "$1-$2");
}

/** What stands in the private fields that could be part of this element's name. */
export function secretsNear(element: Element, marked = isMarked): string[] {
  const around = [element, ...labelsOf(element)];
  const ids = element.getAttribute("aria-labelledby");
  if (ids) {
    const root = element.getRootNode() as Document | ShadowRoot;
    for (const id of ids.split(/\s+/)) {
      const other = id ? root.getElementById?.(id) : null;
      if (other) around.push(other);
    }
  }
  const secrets: string[] = [];
  for (const each of around) {
    secrets.push(...secretOf(each, marked));
    if (!each.firstElementChild) continue;
    for (const field of each.querySelectorAll("input, textarea")) secrets.push(...secretOf(field, marked));
  }
  return secrets;
}

/** Short ones are no secrets, and would be found everywhere. */
export function secretOf(element: Element, marked = isMarked): string[] {
  const { localName } = element;
  if (localName !== "input" && localName !== "textarea") return [];
  const value = (element as HTMLInputElement).value.replace(/\s+/g, " ").trim();
  return value.length > 3 && isPrivate(element, marked) ? [value] : [];
}
