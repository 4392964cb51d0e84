/** One control in one line: what it is, what it is called, what is in it, and what state it is in. */

import { attributeOf, fieldValue, isMatch, parentElementOf, shownText, tagOf } from "./dom";
import { holdsMarked, isPrivate, MASK, toldText } from "./private";
import { isEditable, standsFor } from "./roles";
import { isHandle, scaleOf } from "./sliders";
import { cut, fold, quoted } from "./text";
import type { Known } from "./types";
import { isDisabled } from "./visible";

export const LONGEST_LINE = 200;
const LONGEST_VALUE = 60;
const MOST_OPTIONS = 12;
/** Fields whose form of writing the role does not tell. */
const KINDS = /^(date|time|datetime-local|month|week|color|file|email|tel|url)$/;

/** What of a text may be told. */
interface Told {
  withoutSecrets(text: string): string;
}

/** `e12 button "Add to cart" [Blue mug]`, `e13 textbox "E-mail" = "ada@…" required`. */
export function controlLine(known: Known, within: string, told: Told): string {
  const { element, ref, role, name } = known;
  const parts = [ref, role || "clickable"];
  if (name) parts.push(quoted(name, 90));
  const kind = tagOf(element) === "input" ? (element as HTMLInputElement).type : "";
  if (KINDS.test(kind)) parts.push(kind);
  parts.push(...stateOf(element, known.isPrivate, role, told));
  if (within) parts.push(`[${cut(within.replaceAll("]", ")"), 60)}]`);
  return parts.join(" ");
}

/** What is in a field, as it may be told; undefined where it is no field, or an empty one. */
export function shownValue(element: Element): string | undefined {
  const value = rawValue(element);
  if (!value) return undefined;
  return isPrivate(element) ? MASK : value;
}

/** The parts of a line that tell of a control's state. */
function stateOf(given: Element, isMasked: boolean, role: string, told: Told): string[] {
  const element = standsFor(given) ?? given;
  const parts: string[] = [];
  const value = rawValue(element);
  if (value)
    parts.push(isMasked ? `= ${MASK}` : `= ${quoted(told.withoutSecrets(fold(value)), LONGEST_VALUE)}`);
  if (tagOf(element) === "select" && !isMasked) parts.push(optionsOf(element as HTMLSelectElement));
  parts.push(...rangeOf(element, role));
  parts.push(...checksOf(element));
  const states: [boolean, string][] = [
    [is(element, "aria-pressed"), "pressed"],
    [is(element, "aria-selected"), "selected"],
    [expansionOf(element) === true, "expanded"],
    [expansionOf(element) === false, "collapsed"],
    [hasCurrent(element), "current"],
    [isMatch(element, ":required") || is(element, "aria-required"), "required"],
    [is(element, "aria-invalid") || isMatch(element, ":user-invalid"), "invalid"],
    [isMatch(element, "input:read-only, textarea:read-only") && isWritten(element), "readonly"],
    [isDisabled(element), "disabled"],
  ];
  for (const [holds, word] of states) if (holds) parts.push(word);
  return parts.filter(Boolean);
}

function rawValue(element: Element): string {
  switch (tagOf(element)) {
    case "input":
      return inputValue(element as HTMLInputElement);
    case "textarea":
      return fieldValue(element);
    case "select":
      return [...(element as HTMLSelectElement).selectedOptions]
        .map((option) => fold(option.label))
        .join(", ");
  }
  if (isEditable(element) && holdsMarked(element)) return fold(toldText(element));
  if (isEditable(element)) return fold(shownText(element));
  if (isHandle(element)) return String(scaleOf(element)?.value ?? "");
  return attributeOf(element, "aria-valuetext") ?? attributeOf(element, "aria-valuenow") ?? spokenBy(element);
}

/** What a selectmenu of jQuery UI has chosen stands in it. */
function spokenBy(element: Element): string {
  return isMatch(element, ".ui-selectmenu-button[role=combobox]") ? fold(shownText(element)) : "";
}

function inputValue(input: HTMLInputElement): string {
  if (/^(button|submit|reset|image|checkbox|radio|hidden)$/.test(input.type)) return "";
  if (input.type === "file") return [...(input.files ?? [])].map((file) => file.name).join(", ");
  return fieldValue(input);
}

function optionsOf(select: HTMLSelectElement): string {
  const labels = [...select.options]
    .filter((option) => !option.disabled)
    .map((option) => cut(fold(option.label), 24));
  const shown = labels.slice(0, MOST_OPTIONS).join(", ");
  const more = labels.length - MOST_OPTIONS;
  return `${select.multiple ? "several of " : ""}options ${shown}${more > 0 ? ` and ${more} more` : ""}`;
}

function rangeOf(element: Element, role: string): string[] {
  if (role !== "slider" && role !== "spinbutton") return [];
  const scale = isHandle(element) ? scaleOf(element) : null;
  if (scale) return [`(${scale.least} to ${scale.most})`];
  const ends = ["min", "max"].map(
    (end) => attributeOf(element, end) ?? attributeOf(element, `aria-value${end}`) ?? "",
  );
  const [least, most] =
    tagOf(element) === "input" && role === "slider" ? [ends[0] || "0", ends[1] || "100"] : ends;
  return least || most ? [`(${least || "…"} to ${most || "…"})`] : [];
}

function checksOf(element: Element): string[] {
  const box = element as HTMLInputElement;
  const isBox = tagOf(element) === "input" && /^(checkbox|radio)$/.test(box.type);
  const state = isBox
    ? box.indeterminate
      ? "mixed"
      : String(box.checked)
    : attributeOf(element, "aria-checked");
  return state === "true" ? ["checked"] : state === "mixed" ? ["mixed"] : [];
}

function expansionOf(element: Element): boolean | undefined {
  if (tagOf(element) === "summary") return (parentElementOf(element) as HTMLDetailsElement | null)?.open;
  const given = attributeOf(element, "aria-expanded");
  return given === "true" ? true : given === "false" ? false : undefined;
}

function hasCurrent(element: Element): boolean {
  const current = attributeOf(element, "aria-current");
  return current !== null && current !== "" && current !== "false";
}

function isWritten(element: Element): boolean {
  return (element as HTMLInputElement).readOnly === true;
}

function is(element: Element, attribute: string): boolean {
  return attributeOf(element, attribute) === "true";
}
