/** A value goes into a field, whatever kind of field it is, and is held against what is there afterwards. */

import { attributeOf, isElement, tagOf } from "../dom";
import { contentOf } from "../frames";
import { controlOf, labelsOf } from "../labels";
import { natives } from "../natives";
import { roleOf, standsFor } from "../roles";
import { scaleOf } from "../sliders";
import { aimAt, stoodForBy } from "./aim";
import { chooseIn } from "./choose";
import { emitChange, emitInput } from "./events";
import { focusOn } from "./focus";
import { emitKey, keyOf } from "./keys";
import { clickAt, moveTo } from "./pointer";
import { Refusal } from "./refusal";
import {
  deleteText,
  editableOf,
  insertText,
  isReadOnly,
  isTextField,
  isTyped,
  selectAll,
  type TextField,
  textOf,
} from "./typing";
import { fitting } from "./values";

/** Says what is wrong with the field as it is now; null where it holds what it was given. */
export type Check = () => string | null;

const MOST_STEPS = 1_000;
const YES = /^(true|on|yes|checked|1)$/i;
const NO = /^(false|off|no|unchecked|0|)$/i;
const CHECKABLE = new Set(["checkbox", "switch", "radio", "menuitemcheckbox", "menuitemradio"]);

/** The field that is meant: the element itself, or the only one that it is made of. Throws a Refusal. */
export function fieldOf(element: Element): Element {
  const stood = tagOf(element) === "label" ? standsFor(element) : null;
  if (stood) return stood;
  if (isField(element)) return element;
  if (tagOf(element) === "label") {
    const control = controlOf(element);
    if (control) return control;
  }
  const inside = fieldsIn(element, 200);
  if (inside.length === 1 && inside[0]) return inside[0];
  const why = inside.length ? `it holds ${inside.length} fields: name one of them` : "it is no field";
  throw new Refusal(`${why}. Fields are text boxes, check boxes, lists, sliders and the like`);
}

/**
 * Throws a Refusal before anything was touched; afterwards only the check knows. `mustBeStill` throws where the page put
 * something else there as the focus came.
 */
export async function fill(
  field: Element,
  value: string,
  mustBeStill: () => void,
  signal?: AbortSignal,
): Promise<Check> {
  const input = field as HTMLInputElement;
  if (tagOf(field) === "input" && input.type === "file")
    throw new Refusal("files are chosen by the visitor alone. Ask them to choose one here");
  if (tagOf(field) === "select" || /^(listbox|radiogroup)$/.test(roleOf(field)))
    return await chooseIn(field, [value], mustBeStill, signal);
  if (isCheckable(field)) return check(field, value, mustBeStill);
  if (isReadOnly(field)) throw new Refusal("it is read-only");
  if (isTyped(field)) return type(field, value, mustBeStill);
  if (tagOf(field) === "input") return set(input, fitting(input, value), mustBeStill);
  if (roleOf(field) === "combobox") return await chooseIn(field, [value], mustBeStill, signal);
  if (roleOf(field) === "slider" && scaleOf(field)) return slide(field, value, mustBeStill);
  throw new Refusal("it cannot be filled in. Click on it, or press keys on it (arrows for sliders)");
}

export function isCheckable(element: Element): boolean {
  return CHECKABLE.has(roleOf(element));
}

export function isChecked(element: Element): boolean {
  const input = element as HTMLInputElement;
  if (tagOf(element) === "input") return input.checked;
  return attributeOf(element, "aria-checked") === "true";
}

function isField(element: Element): boolean {
  if (/^(input|textarea|select)$/.test(tagOf(element))) return true;
  if (editableOf(element) || isCheckable(element)) return true;
  return /^(combobox|listbox|radiogroup|slider|spinbutton)$/.test(roleOf(element));
}

function fieldsIn(element: Element, most: number): Element[] {
  const found: Element[] = [];
  const walk = (at: Element) => {
    for (const node of contentOf(at)) {
      if (!isElement(node) || found.length >= most) continue;
      const inside = node as Element;
      if (isField(inside) && (inside as HTMLInputElement).type !== "hidden") found.push(inside);
      else walk(inside);
    }
  };
  walk(element);
  return found;
}

function check(field: Element, value: string, mustBeStill: () => void): Check {
  if (!YES.test(value) && !NO.test(value))
    throw new Refusal(`it is a ${roleOf(field)} and takes true or false, found "${value.slice(0, 40)}"`);
  const wanted = YES.test(value);
  const isRadio = roleOf(field).endsWith("radio");
  if (isRadio && !wanted) throw new Refusal("a radio is turned off by turning on another one of its group");
  if (isChecked(field) !== wanted) toggle(field, mustBeStill);
  return () => (isChecked(field) === wanted ? null : `it is still ${wanted ? "not checked" : "checked"}`);
}

function toggle(field: Element, mustBeStill: () => void): void {
  const label = labelsOf(field).find((each) => standsFor(each) === field);
  const aim = aimAt(label ?? stoodForBy(field));
  moveTo(aim);
  clickAt(aim, 1, mustBeStill);
}

/** Dates, sliders, colours: what a picker would leave behind. */
function set(input: HTMLInputElement, value: string, mustBeStill: () => void): Check {
  focusOn(input);
  mustBeStill();
  if (natives().value(input) !== value) {
    natives().setValue(input, value);
    emitInput(input);
    emitChange(input);
  }
  return () => held(natives().value(input), value);
}

/** By its keys, as somebody without a mouse moves it: as near as its steps come. */
function slide(handle: Element, value: string, mustBeStill: () => void): Check {
  const [wanted, scale] = [Number(value), scaleOf(handle)];
  if (!scale || value.trim() === "" || Number.isNaN(wanted) || wanted < scale.least || wanted > scale.most)
    throw new Refusal(
      `it takes a number from ${scale?.least} to ${scale?.most}, found "${value.slice(0, 40)}"`,
    );
  if (!focusOn(handle)) throw new Refusal("it does not take the focus");
  mustBeStill();
  const now = (): number => scaleOf(handle)?.value ?? wanted;
  for (let presses = 0; presses < MOST_STEPS && now() !== wanted; presses++) {
    const before = now();
    const key = keyOf(before < wanted ? "ArrowRight" : "ArrowLeft");
    emitKey(handle, "keydown", key);
    emitKey(handle, "keyup", key);
    // It does not move, or its steps lead past what is wanted.
    if (now() === before || before < wanted !== now() < wanted) break;
  }
  return () => (now() === wanted ? null : `it stands at ${now()}`);
}

/** All at once; key by key where the page has its own way with keys, as fields with a mask do. */
function type(field: Element, value: string, mustBeStill: () => void): Check {
  const most = isTextField(field) ? field.maxLength : -1;
  if (most >= 0 && value.length > most)
    throw new Refusal(`it takes at most ${most} characters, found ${value.length}`);
  const wanted = tagOf(field) === "input" ? fitting(field as HTMLInputElement, value) : value;
  if (!focusOn(field) && !editableOf(field)) throw new Refusal("it does not take the focus");
  mustBeStill();
  if (textOf(field) !== wanted) {
    atOnce(field, wanted);
    if (held(textOf(field), wanted)) keyByKey(field, wanted);
  }
  // It says `change` when it is left or sent, as it does for those who type: some pages take that for the end of it.
  return () => held(textOf(field), wanted);
}

function atOnce(field: Element, value: string): void {
  selectAll(field);
  if (value === "") {
    const key = keyOf("Backspace");
    if (emitKey(field, "keydown", key)) deleteText(field);
    emitKey(field, "keyup", key);
    return;
  }
  const last = keyOf([...value].at(-1) ?? " ");
  if (/[\r\n\t]/.test(last.key)) {
    insertText(field, value);
    return;
  }
  const isLetIn = emitKey(field, "keydown", last) && emitKey(field, "keypress", last);
  if (isLetIn) insertText(field, value);
  emitKey(field, "keyup", last);
}

function keyByKey(field: Element, value: string): void {
  selectAll(field);
  if (textOf(field) !== "") deleteText(field);
  for (const character of value) {
    if (/[\r\n\t]/.test(character)) {
      insertText(field, character);
      continue;
    }
    const key = keyOf(character);
    if (emitKey(field, "keydown", key) && emitKey(field, "keypress", key)) insertText(field, character);
    emitKey(field, "keyup", key);
  }
}

/** A page may write a number or a date in its own way: what counts are the letters and digits. */
function held(found: string, wanted: string): string | null {
  if (found === wanted || letters(found) === letters(wanted)) return null;
  return found === "" ? "it is empty" : `it holds "${found.slice(0, 80)}"`;
}

function letters(text: string): string {
  const only = text.normalize("NFKC").replace(/[^\p{L}\p{N}]/gu, "");
  return (only || text.trim()).toLowerCase();
}

export type { TextField };
