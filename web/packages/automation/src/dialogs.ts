/** Dialogs that keep the visitor from everything else, and what stays in reach beside them. */

import { rootsOf } from "./frames";
import type { Look } from "./look";
import { isOwn, isVisible } from "./visible";

const MODAL = "dialog[open], [role=dialog][aria-modal=true], [role=alertdialog][aria-modal=true]";
/** Lists of choices that pages append at the end of the body, over the dialog that they belong to. */
const POPUP = "[role=listbox], [role=menu], [popover]";

/** The modal dialog on top, where one is open. */
export function openModal(look: Look): Element | null {
  let top: Element | null = null;
  for (const root of rootsOf(look.page)) {
    for (const dialog of root.querySelectorAll(MODAL)) {
      if (
        dialog.localName === "dialog" &&
        !dialog.matches(":modal") &&
        dialog.getAttribute("aria-modal") !== "true"
      )
        continue;
      if (isVisible(dialog) && !isOwn(dialog)) top = dialog;
    }
  }
  return top;
}

/** What else can be reached while a dialog is open. */
export function beside(modal: Element): Element[] {
  // A browser's own modal dialog shuts out everything else.
  if (modal.matches(":modal")) return [];
  const found = [...modal.ownerDocument.querySelectorAll(POPUP)];
  return found.filter((popup) => {
    const isAfter = modal.compareDocumentPosition(popup) & Node.DOCUMENT_POSITION_FOLLOWING;
    return isAfter && !modal.contains(popup) && isVisible(popup) && !isOwn(popup);
  });
}
