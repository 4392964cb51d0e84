/** Text goes in and out of fields here, at the caret, with the events of somebody who types. */

import {
  attributeOf,
  createTextNode,
  execCommand,
  isInEditable,
  isInside,
  ownerOf,
  parentElementOf,
  shownText,
  tagOf,
} from "../dom";
import { natives } from "../natives";
import { isEditable } from "../roles";
import { emitBeforeInput, emitInput, viewOf } from "./events";
import { typing } from "./focus";

export type TextField = HTMLInputElement | HTMLTextAreaElement;

const NOT_TYPED = new Set(
  "button checkbox color date datetime-local file hidden image month radio range reset submit time week".split(
    " ",
  ),
);

/** Whether characters go into this element. */
export function isTyped(element: Element): boolean {
  return isTextField(element) || editableOf(element) !== null;
}

export function isTextField(element: Element): element is TextField {
  if (tagOf(element) === "textarea") return true;
  return tagOf(element) === "input" && !NOT_TYPED.has((element as HTMLInputElement).type);
}

export function isReadOnly(element: Element): boolean {
  return (element as HTMLInputElement).readOnly === true || attributeOf(element, "aria-readonly") === "true";
}

/** The whole that is edited, for an element anywhere in it. */
export function editableOf(element: Element): HTMLElement | null {
  if (!isInEditable(element)) return null;
  for (let at: Element | null = element; at; at = parentElementOf(at))
    if (isEditable(at)) return at as HTMLElement;
  return null;
}

/** What the field holds. */
export function textOf(element: Element): string {
  const editable = editableOf(element);
  if (editable) return shownText(editable).replace(/\n$/, "");
  return natives().value(element as TextField);
}

/** At the caret, in place of what is selected. False where the page would not have it. */
export function insertText(element: Element, text: string): boolean {
  return edit(element, "insertText", text);
}

export function deleteText(element: Element, isForward = false): boolean {
  return edit(element, isForward ? "deleteContentForward" : "deleteContentBackward", null);
}

/** A new line in what has several. */
export function breakLine(element: Element): boolean {
  const isField = isTextField(element);
  return edit(element, isField ? "insertLineBreak" : "insertParagraph", null);
}

/** Everything in it is selected, so that what is typed next takes its place. */
export function selectAll(element: Element): void {
  const editable = editableOf(element);
  if (editable) {
    selectionOf(editable)?.selectAllChildren(editable);
    return;
  }
  (element as TextField).select();
  wholes.add(element);
}

export function moveCaret(element: Element, key: "ArrowLeft" | "ArrowRight" | "Home" | "End"): void {
  const editable = editableOf(element);
  const isBack = key === "ArrowLeft" || key === "Home";
  if (editable) {
    const unit = key.startsWith("Arrow") ? "character" : "lineboundary";
    selectionOf(editable)?.modify("move", isBack ? "backward" : "forward", unit);
    return;
  }
  const field = element as TextField;
  const [start, end] = caretOf(field);
  const last = textOf(field).length;
  const isRange = start !== end && key.startsWith("Arrow");
  const steps = {
    ArrowLeft: isRange ? start : start - 1,
    ArrowRight: isRange ? end : end + 1,
    Home: 0,
    End: last,
  };
  setCaret(field, Math.min(Math.max(steps[key], 0), last));
}

/** Fields that cannot say what is selected in them, and of which everything is. */
const wholes = new WeakSet<Element>();

function edit(element: Element, inputType: string, data: string | null): boolean {
  if (!emitBeforeInput(element, inputType, data)) return false;
  const editable = editableOf(element);
  if (editable) return editRich(editable, inputType, data);
  const field = element as TextField;
  const before = textOf(field);
  const [start, end] = caretOf(field);
  const isDelete = inputType.startsWith("delete");
  const from = inputType === "deleteContentBackward" && start === end ? Math.max(start - 1, 0) : start;
  const to = inputType === "deleteContentForward" && start === end ? Math.min(end + 1, before.length) : end;
  const room = field.maxLength < 0 ? Infinity : field.maxLength - (before.length - (to - from));
  const text = isDelete ? "" : (data ?? "\n").slice(0, Math.max(room, 0));
  if (isDelete ? from === to : text === "" && from === to) return true;
  wholes.delete(field);
  natives().setValue(field, before.slice(0, from) + text + before.slice(to));
  setCaret(field, from + text.length);
  typing(field, before);
  emitInput(field, inputType, data);
  return true;
}

/** The browser's own editing keeps the structure of what is edited, and says `input` itself. */
function editRich(editable: HTMLElement, inputType: string, data: string | null): boolean {
  const document = ownerOf(editable);
  const selection = selectionOf(editable);
  if (!selection) return false;
  if (!selection.anchorNode || !isInside(editable, selection.anchorNode)) {
    selection.selectAllChildren(editable);
    selection.collapseToEnd();
  }
  const command =
    { deleteContentBackward: "delete", deleteContentForward: "forwardDelete" }[inputType] ?? inputType;
  if (execCommand(document, command, false, data ?? undefined)) return true;
  const range = selection.getRangeAt(0);
  range.deleteContents();
  if (data) range.insertNode(createTextNode(document, data));
  range.collapse(false);
  emitInput(editable, inputType, data);
  return true;
}

function selectionOf(element: Element): Selection | null {
  return viewOf(element).getSelection();
}

/** Some kinds of field do not tell: there, typing goes on at the end. */
function caretOf(field: TextField): [number, number] {
  const last = textOf(field).length;
  if (field.selectionStart === null) return wholes.has(field) ? [0, last] : [last, last];
  return [field.selectionStart, field.selectionEnd ?? field.selectionStart];
}

function setCaret(field: TextField, at: number): void {
  if (field.selectionStart !== null) field.setSelectionRange(at, at);
}
