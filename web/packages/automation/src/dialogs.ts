/** Dialogs that keep the visitor from everything else, and what stays in reach beside them. */

import { allIn, attributeOf, isBefore, isMatch, ownerOf, tagOf } from "./dom";
import { contains, rootsOf } from "./frames";
import type { Look } from "./look";
import { isOnTop, isOwn, isVisible } from "./visible";

const MODAL = "dialog[open], [role=dialog][aria-modal=true], [role=alertdialog][aria-modal=true]";
/** Lists of choices that pages append at the end of the body, over the dialog that they belong to. */
const POPUP = "[role=listbox], [role=menu], [popover]";

/** The modal dialog on top, where one is open. */
export function openModal(look: Look): Element | null {
  const found: Element[] = [];
  for (const root of rootsOf(look.page))
    for (const dialog of allIn(root, MODAL))
      if (isModal(dialog) && isVisible(dialog) && !isOwn(dialog)) found.push(dialog);
  // The browser's own lie over everything else, however that is stacked.
  const native = found.filter((dialog) => isMatch(dialog, ":modal"));
  return topmost(native.length > 0 ? native : found);
}

/** The one that lies over the others; the last of them where that cannot be seen. */
export function topmost<E extends Element>(elements: readonly E[]): E | null {
  const onTop = elements.length > 1 ? elements.filter(isOnTop) : elements;
  return onTop.at(-1) ?? elements.at(-1) ?? null;
}

/** What else can be reached while a dialog is open. */
export function beside(modal: Element): Element[] {
  // A browser's own modal dialog shuts out everything else.
  if (isMatch(modal, ":modal")) return [];
  return allIn(ownerOf(modal), POPUP).filter(
    (popup) => isBefore(modal, popup) && !contains(modal, popup) && isVisible(popup) && !isOwn(popup),
  );
}

function isModal(dialog: Element): boolean {
  if (tagOf(dialog) !== "dialog") return true;
  return isMatch(dialog, ":modal") || attributeOf(dialog, "aria-modal") === "true";
}
