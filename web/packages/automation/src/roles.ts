/** What an element is, and whether one can do something with it. */

import { getRole } from "dom-accessibility-api";
import { parentOf } from "./frames";
import { listensToClicks } from "./listeners";

const CONTROLS = new Set(
  (
    "button checkbox combobox link menuitem menuitemcheckbox menuitemradio option radio searchbox slider " +
    "spinbutton switch tab textbox treeitem"
  ).split(" "),
);

const KNOWN = new Set([
  ...CONTROLS,
  ...(
    "alert alertdialog application article banner blockquote caption cell code columnheader complementary contentinfo " +
    "definition deletion dialog directory document emphasis feed figure form generic grid gridcell group heading image " +
    "img insertion list listbox listitem log main mark marquee math menu menubar meter navigation none note paragraph " +
    "presentation progressbar radiogroup region row rowgroup rowheader scrollbar search separator status strong " +
    "subscript suggestion superscript table tablist tabpanel term time timer toolbar tooltip tree treegrid"
  ).split(" "),
]);

/** What holds others rather than being pressed: a listener on one of these waits for what comes from inside. */
const HOLDERS = new Set(
  (
    "html body main form ul ol dl table thead tbody tfoot nav header footer dialog fieldset label select option " +
    "optgroup iframe canvas"
  ).split(" "),
);
const HOLDING_ROLES = new Set(
  "list table grid treegrid rowgroup listbox menu menubar tablist tree radiogroup dialog alertdialog form main navigation region feed".split(
    " ",
  ),
);

/** The explicit or implicit ARIA role; empty where there is none. */
export function roleOf(element: Element): string {
  const explicit = explicitRole(element);
  if (explicit === "none" || explicit === "presentation")
    return isFocusable(element) ? implicitRole(element) : "";
  return explicit || implicitRole(element);
}

/** Whether the visitor could do something with this element: press it, fill it in, choose it. */
export function isControl(element: Element): boolean {
  if (isNativeControl(element)) return true;
  const role = roleOf(element);
  if (CONTROLS.has(role)) return !(role === "option" && element.localName === "option");
  if (element.localName === "label") return standsFor(element) !== null;
  if (HOLDERS.has(element.localName) || HOLDING_ROLES.has(role)) return false;
  return hasOwnPointer(element) || (listensToClicks(element) && !holdsControls(element));
}

/** The control that a label stands for because the control itself cannot be seen: `<label><input hidden>…`. */
export function standsFor(label: Element): Element | null {
  const control = (label as HTMLLabelElement).control ?? null;
  if (!control || !/^(checkbox|radio|file)$/.test((control as HTMLInputElement).type)) return null;
  return control.checkVisibility({ visibilityProperty: true }) ? null : control;
}

/** The outermost element that can be written into, where this is one. */
export function isEditable(element: Element): boolean {
  const html = element as HTMLElement;
  if (!html.isContentEditable) return false;
  const mode = element.getAttribute("contenteditable");
  if (mode !== null && mode !== "false" && mode !== "inherit") return true;
  return element === element.ownerDocument.body && element.ownerDocument.designMode === "on";
}

function isNativeControl(element: Element): boolean {
  switch (element.localName) {
    case "button":
    case "select":
    case "textarea":
      return true;
    case "input":
      return (element as HTMLInputElement).type !== "hidden";
    case "a":
    case "area":
      return element.hasAttribute("href");
    case "summary":
      return (
        element.parentElement?.localName === "details" &&
        element.parentElement.querySelector(":scope > summary") === element
      );
    case "audio":
    case "video":
      return element.hasAttribute("controls");
    default:
      return isEditable(element);
  }
}

function explicitRole(element: Element): string {
  const given = element.getAttribute("role");
  if (given === null) return "";
  for (const role of given.toLowerCase().split(/\s+/))
    if (KNOWN.has(role)) return role === "image" ? "img" : role;
  return "";
}

function implicitRole(element: Element): string {
  switch (element.localName) {
    case "input":
      return inputRole(element as HTMLInputElement);
    case "label": {
      const control = standsFor(element);
      return control ? roleOf(control) : "";
    }
    case "section":
    case "form":
      return isNamed(element) ? (element.localName === "form" ? "form" : "region") : "";
    case "header":
    case "footer":
      return element.closest("article, aside, main, nav, section") === null ? plainRole(element) : "";
    case "th":
      return isRowHeader(element) ? "rowheader" : "columnheader";
    case "td":
      return element.closest("[role=grid], [role=treegrid]") ? "gridcell" : "cell";
    case "summary":
      return isNativeControl(element) ? "button" : "";
    case "hgroup":
      return "group";
    case "search":
      return "search";
    case "meter":
      return "meter";
    case "svg":
      return isNamed(element) || element.querySelector(":scope > title") ? "img" : "";
    case "legend":
    case "html":
    case "link":
    case "datalist":
      return "";
    default:
      return plainRole(element) || (isEditable(element) ? "textbox" : "");
  }
}

function plainRole(element: Element): string {
  // The library's answer for the tag: a role that the element does not have is not asked for.
  if (!element.hasAttribute("role")) return simple(getRole(element));
  const bare = element.cloneNode(false) as Element;
  bare.removeAttribute("role");
  return simple(getRole(bare));
}

function simple(role: string | null): string {
  return role === null || role === "presentation" || role === "none" ? "" : role;
}

function inputRole(input: HTMLInputElement): string {
  switch (input.type) {
    case "hidden":
      return "";
    case "button":
    case "image":
    case "reset":
    case "submit":
    case "file":
      return "button";
    case "checkbox":
      return input.hasAttribute("switch") ? "switch" : "checkbox";
    case "radio":
      return "radio";
    case "range":
      return "slider";
    case "number":
      return "spinbutton";
    case "search":
      return input.hasAttribute("list") ? "combobox" : "searchbox";
    default:
      return input.hasAttribute("list") ? "combobox" : "textbox";
  }
}

function isRowHeader(cell: Element): boolean {
  const scope = cell.getAttribute("scope");
  if (scope) return scope.startsWith("row");
  const row = cell.parentElement;
  return row?.parentElement?.localName !== "thead" && row?.querySelector(":scope > td") !== null;
}

function isNamed(element: Element): boolean {
  return ["aria-label", "aria-labelledby", "title"].some((name) => element.getAttribute(name)?.trim());
}

function isFocusable(element: Element): boolean {
  return isNativeControl(element) || element.hasAttribute("tabindex");
}

/** Applications listen at their roots, and overlays around their dialogs: that is for what comes from inside. */
function holdsControls(element: Element): boolean {
  return (
    element.querySelector(
      "a[href], button, input, select, textarea, [role=button], h1, h2, main, ul, table",
    ) !== null
  );
}

/** `cursor: pointer` of its own: whoever merely inherits it is a part of something that can be pressed. */
function hasOwnPointer(element: Element): boolean {
  const view = element.ownerDocument.defaultView;
  if (view?.getComputedStyle(element).cursor !== "pointer") return false;
  const parent = parentOf(element);
  const isInherited =
    parent?.ownerDocument === element.ownerDocument && view.getComputedStyle(parent).cursor === "pointer";
  return !isInherited && showsSomething(element, view);
}

/** An empty box that only changes the cursor is nothing to press. */
function showsSomething(element: Element, view: Window): boolean {
  if (
    element.textContent?.trim() ||
    isNamed(element) ||
    element.querySelector("img, svg, canvas, [aria-label]")
  )
    return true;
  return ["::before", "::after"].some((part) => /["(]/.test(view.getComputedStyle(element, part).content));
}
