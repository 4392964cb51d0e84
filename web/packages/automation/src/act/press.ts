/** A key, with everything that pages and browsers do about it: a script's keys do nothing by themselves. */

import { topmost } from "../dialogs";
import { allIn, bareCopy, bodyOf, isMatch, ownerOf, rootOf, tagOf } from "../dom";
import { natives } from "../natives";
import { roleOf } from "../roles";
import { isDisabled, isOwn, isVisible } from "../visible";
import { emitBeforeInput, emitChange, emitInput, viewOf } from "./events";
import { commit, focused, focusOn, nextOf, typing } from "./focus";
import { emitKey, type Key } from "./keys";
import { clickByKey } from "./pointer";
import { scrollByKey } from "./scroll";
import {
  breakLine,
  deleteText,
  insertText,
  isReadOnly,
  isTextField,
  isTyped,
  moveCaret,
  selectAll,
} from "./typing";

const ENTER_CLICKS =
  "button, summary, input[type=submit], input[type=reset], input[type=button], input[type=image]";
const SPACE_CLICKS = `${ENTER_CLICKS}, input[type=checkbox], input[type=radio]`;
const STEPS: Readonly<Record<string, number>> = { ArrowUp: -1, ArrowLeft: -1, ArrowDown: 1, ArrowRight: 1 };

/** Whether this key, pressed in this element, would change what the element holds. */
export function changesValue(target: Element, key: Key): boolean {
  if (key.key === "Tab" || key.key === "Escape" || key.key === "Enter") return false;
  return isTyped(target) || /^(input|select|textarea)$/.test(tagOf(target));
}

/** Press and let go of a key where the focus is. */
export function press(document: Document, key: Key): void {
  const target = focused(document) ?? bodyOf(document);
  const isLetDown = emitKey(target, "keydown", key);
  const isDone = isLetDown && onKeyDown(target, key);
  const types = key.text !== "" || key.key === "Enter";
  if (isLetDown && !isDone && types && emitKey(target, "keypress", key)) onKeyPress(target, key);
  // The key comes up where the focus is by then.
  const there = focused(document) ?? bodyOf(document);
  if (emitKey(there, "keyup", key) && isLetDown && there === target) onKeyUp(target, key);
}

/** True where the key was used up: no character comes of it. */
function onKeyDown(target: Element, key: Key): boolean {
  switch (key.key) {
    case "Tab":
      tab(target, key.shiftKey);
      return true;
    case "Escape":
      leave(target);
      return true;
    case "Backspace":
    case "Delete":
      if (isTyped(target) && !isReadOnly(target)) deleteText(target, key.key === "Delete");
      return true;
    case "Enter":
      if (!isMatch(target, "a[href], area[href]")) return false;
      clickByKey(target);
      return true;
    default:
      if (key.ctrlKey || key.metaKey) {
        if (key.key.toLowerCase() === "a" && isTyped(target)) selectAll(target);
        return true;
      }
      return key.key in STEPS || key.text === "" ? move(target, key) : false;
  }
}

function onKeyPress(target: Element, key: Key): void {
  if (key.key === "Enter") {
    enter(target);
  } else if (isTyped(target)) {
    if (!isReadOnly(target)) insertText(target, key.text);
  } else if (tagOf(target) === "select") {
    chooseByLetter(target as HTMLSelectElement, key.text);
  } else if (key.key === " " && !isMatch(target, SPACE_CLICKS)) {
    scrollByKey(target, "PageDown");
  }
}

function onKeyUp(target: Element, key: Key): void {
  if (key.key === " " && isMatch(target, SPACE_CLICKS) && !isDisabled(target)) clickByKey(target);
}

function enter(target: Element): void {
  if (isMatch(target, ENTER_CLICKS)) {
    clickByKey(target);
  } else if (tagOf(target) === "textarea" || (!isTextField(target) && isTyped(target))) {
    if (!isReadOnly(target)) breakLine(target);
  } else if (tagOf(target) === "input") {
    if (isTextField(target)) emitBeforeInput(target, "insertLineBreak", null);
    commit(target);
    submit(target as HTMLInputElement);
  }
}

/** As a form is sent from one of its fields: by its first button, or by itself where it has one field only. */
function submit(field: HTMLInputElement): void {
  const { form } = field;
  if (!form) return;
  const parts = natives().elementsOf(form);
  const button = parts.find(isSending);
  if (button) {
    if (!isMatch(button, ":disabled")) clickByKey(button);
    return;
  }
  if (parts.filter((each) => tagOf(each) === "input" && isTextField(each)).length <= 1)
    natives().requestSubmit(form);
}

function isSending(element: Element): boolean {
  const { type } = element as HTMLInputElement;
  if (tagOf(element) === "button") return type === "submit";
  return tagOf(element) === "input" && (type === "submit" || type === "image");
}

function tab(target: Element, isBack: boolean): void {
  const next = nextOf(target === bodyOf(ownerOf(target)) ? null : target, ownerOf(target), isBack);
  if (!next) return;
  commit(target);
  if (focusOn(next) && isTextField(next)) next.select();
}

function leave(target: Element): void {
  const { document } = viewOf(target);
  const popover = topmost(othersIn(document, "[popover]:popover-open") as HTMLElement[]);
  if (popover && popover.popover !== "manual") {
    popover.hidePopover();
    return;
  }
  const dialog = topmost(othersIn(document, "dialog:modal").filter(isVisible) as HTMLDialogElement[]);
  if (dialog) {
    if (typeof dialog.requestClose === "function") dialog.requestClose();
    else dialog.close();
    return;
  }
  if (tagOf(target) === "input" && (target as HTMLInputElement).type === "search")
    clear(target as HTMLInputElement);
}

/** Those of the page, not of the chat. */
function othersIn(document: Document, selector: string): Element[] {
  return allIn(document, selector).filter((each) => !isOwn(each));
}

function clear(field: HTMLInputElement): void {
  const before = natives().value(field);
  if (before === "" || isReadOnly(field)) return;
  natives().setValue(field, "");
  typing(field, before);
  emitInput(field);
}

/** Arrows and their like: through radios, options, numbers, text; else they scroll. */
function move(target: Element, key: Key): boolean {
  const input = target as HTMLInputElement;
  const isInput = tagOf(target) === "input";
  if (isInput && input.type === "radio") moveRadio(input, STEPS[key.key] ?? 0);
  else if (tagOf(target) === "select") moveOption(target as HTMLSelectElement, key.key);
  else if (isInput && (input.type === "range" || input.type === "number")) step(input, key.key);
  else if (isTyped(target)) {
    if (/^(ArrowLeft|ArrowRight|Home|End)$/.test(key.key)) moveCaret(target, key.key as "Home");
  } else if (!/^(menu|option|slider|tab|tree|radio|listbox|combobox|grid)/.test(roleOf(target)))
    scrollByKey(target, key.key);
  return true;
}

function moveRadio(radio: HTMLInputElement, by: number): void {
  const root = rootOf(radio);
  const group = (allIn(root, "input[type=radio]") as HTMLInputElement[]).filter(
    (each) => each.name === radio.name && each.form === radio.form && !isDisabled(each) && isVisible(each),
  );
  if (by === 0 || group.length < 2 || !radio.name) return;
  const next = group[(group.indexOf(radio) + by + group.length) % group.length];
  if (!next) return;
  focusOn(next);
  clickByKey(next);
}

function moveOption(select: HTMLSelectElement, key: string): void {
  const free = [...select.options].filter((each) => !isMatch(each, ":disabled"));
  const at = free.findIndex((each) => each.selected);
  const to = key === "Home" ? 0 : key === "End" ? free.length - 1 : at + (STEPS[key] ?? 0);
  take(select, free[Math.min(Math.max(to, 0), free.length - 1)]);
}

function chooseByLetter(select: HTMLSelectElement, letter: string): void {
  const free = [...select.options].filter((each) => !each.disabled);
  const at = free.findIndex((each) => each.selected);
  const ring = [...free.slice(at + 1), ...free.slice(0, at + 1)];
  take(
    select,
    ring.find((each) => each.text.trim().toLowerCase().startsWith(letter.toLowerCase())),
  );
}

function take(select: HTMLSelectElement, option: HTMLOptionElement | undefined): void {
  if (!option || option.selected) return;
  natives().setSelected(option, true);
  emitInput(select);
  emitChange(select);
}

function step(input: HTMLInputElement, key: string): void {
  const isRange = input.type === "range";
  const isUp = key === "ArrowUp" || (isRange && key === "ArrowRight") || key === "PageUp";
  const isDown = key === "ArrowDown" || (isRange && key === "ArrowLeft") || key === "PageDown";
  const before = natives().value(input);
  if (isReadOnly(input)) return;
  const after = stepped(input, before, { isUp, isDown, key });
  if (after === before) return;
  if (!isRange && !emitBeforeInput(input, "insertText", after)) return;
  natives().setValue(input, after);
  emitInput(input);
  emitChange(input);
}

function stepped(
  input: HTMLInputElement,
  before: string,
  by: { isUp: boolean; isDown: boolean; key: string },
): string {
  const probe = bareCopy(input);
  natives().setValue(probe, before);
  // Of a slider a page is a tenth of it.
  const wide = input.type === "range" && by.key.startsWith("Page") ? 10 : 1;
  if (by.isUp) probe.stepUp(wide);
  else if (by.isDown) probe.stepDown(wide);
  else if (input.type === "range" && by.key === "Home") natives().setValue(probe, input.min || "0");
  else if (input.type === "range" && by.key === "End") natives().setValue(probe, input.max || "100");
  return natives().value(probe);
}
