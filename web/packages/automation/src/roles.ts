/** What an element is, and whether one can do something with it. */

import {
  attributeOf,
  attributesOf,
  bodyOf,
  designModeOf,
  firstIn,
  hasAttribute,
  isInEditable,
  isShown,
  nearest,
  ownerOf,
  parentElementOf,
  styleOf,
  tagOf,
  textContentOf,
} from "./dom";
import { parentOf } from "./frames";
import { controlOf } from "./labels";
import { listensToClicks } from "./listeners";
import { isHandle } from "./sliders";

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

/** What a tag alone makes of an element. */
const BY_TAG: ReadonlyMap<string, string> = new Map(
  (
    "article:article aside:complementary button:button dd:definition details:group dialog:dialog dt:term " +
    "fieldset:group figure:figure footer:contentinfo h1:heading h2:heading h3:heading h4:heading h5:heading h6:heading " +
    "header:banner hgroup:group hr:separator li:listitem main:main math:math menu:list meter:meter nav:navigation " +
    "ol:list optgroup:group option:option output:status progress:progressbar search:search table:table tbody:rowgroup " +
    "textarea:textbox tfoot:rowgroup thead:rowgroup tr:row ul:list"
  )
    .split(" ")
    .map((each) => each.split(":") as [string, string]),
);

/** The explicit or implicit ARIA role; empty where there is none. */
export function roleOf(element: Element): string {
  const explicit = explicitRole(element);
  if (explicit === "none" || explicit === "presentation")
    return isFocusable(element) ? implicitRole(element) : "";
  return explicit || implicitRole(element);
}

/** Whether the visitor could do something with this element: press it, fill it in, choose it. */
export function isControl(element: Element, known?: string): boolean {
  if (isNativeControl(element)) return true;
  const role = known ?? roleOf(element);
  if (CONTROLS.has(role)) return !(role === "option" && tagOf(element) === "option");
  if (tagOf(element) === "label") return standsFor(element) !== null;
  if (HOLDERS.has(tagOf(element)) || HOLDING_ROLES.has(role)) return false;
  return hasOwnPointer(element) || (listensToClicks(element) && !holdsControls(element));
}

/** The control that a label stands for because the control itself cannot be seen: `<label><input hidden>…`. */
export function standsFor(label: Element): Element | null {
  const control = controlOf(label);
  if (!control || !/^(checkbox|radio|file)$/.test((control as HTMLInputElement).type)) return null;
  return isShown(control) ? null : control;
}

/** Whether a control that a press turns on and off is on: checked, pressed, expanded; null where it is none of these. */
export function isOn(element: Element): boolean | null {
  const control = standsFor(element) ?? element;
  const input = control as HTMLInputElement;
  if (tagOf(control) === "input") return /^(checkbox|radio)$/.test(input.type) ? input.checked : null;
  if (tagOf(control) === "summary") {
    const details = parentElementOf(control);
    return details && tagOf(details) === "details" ? hasAttribute(details, "open") : null;
  }
  for (const name of ["aria-checked", "aria-pressed", "aria-expanded"]) {
    const said = attributeOf(control, name);
    if (said === "true" || said === "false") return said === "true";
  }
  return null;
}

/** The outermost element that can be written into, where this is one. */
export function isEditable(element: Element): boolean {
  if (!isInEditable(element)) return false;
  const mode = attributeOf(element, "contenteditable");
  if (mode !== null && mode !== "false" && mode !== "inherit") return true;
  return element === bodyOf(ownerOf(element)) && designModeOf(ownerOf(element)) === "on";
}

function isNativeControl(element: Element): boolean {
  switch (tagOf(element)) {
    case "button":
    case "select":
    case "textarea":
      return true;
    case "input":
      return (element as HTMLInputElement).type !== "hidden";
    case "a":
    case "area":
      return isLink(element);
    case "summary": {
      const details = parentElementOf(element);
      return (
        details !== null && tagOf(details) === "details" && firstIn(details, ":scope > summary") === element
      );
    }
    case "audio":
    case "video":
      return hasAttribute(element, "controls");
    default:
      return isEditable(element);
  }
}

/** Also one in a drawing, which has two ways to say where it leads. */
export function isLink(element: Element): boolean {
  return hasAttribute(element, "href") || hasAttribute(element, "xlink:href");
}

function explicitRole(element: Element): string {
  const given = attributeOf(element, "role");
  if (given === null) return "";
  for (const role of given.toLowerCase().split(/\s+/))
    if (KNOWN.has(role)) return role === "image" ? "img" : role;
  return "";
}

function implicitRole(element: Element): string {
  if (isHandle(element)) return "slider";
  switch (tagOf(element)) {
    case "input":
      return inputRole(element as HTMLInputElement);
    case "label": {
      const control = standsFor(element);
      return control ? roleOf(control) : "";
    }
    case "section":
    case "form":
      return isNamed(element) ? (tagOf(element) === "form" ? "form" : "region") : "";
    case "header":
    case "footer":
      return nearest(element, "article, aside, main, nav, section") === null
        ? (BY_TAG.get(tagOf(element)) ?? "")
        : "";
    case "th":
      return isRowHeader(element) ? "rowheader" : "columnheader";
    case "td":
      return nearest(element, "[role=grid], [role=treegrid]") ? "gridcell" : "cell";
    case "summary":
      return isNativeControl(element) ? "button" : "";
    case "svg":
      return isNamed(element) || firstIn(element, ":scope > title") ? "img" : "";
    case "a":
    case "area":
      return isLink(element) ? "link" : isEditable(element) ? "textbox" : "";
    case "img":
      return isPicture(element) ? "img" : isEditable(element) ? "textbox" : "";
    case "select": {
      const { multiple, size } = element as HTMLSelectElement;
      return multiple || size > 1 ? "listbox" : "combobox";
    }
    default:
      return BY_TAG.get(tagOf(element)) ?? (isEditable(element) ? "textbox" : "");
  }
}

/** What the page calls mere decoration is more than that where it says anything else of it. */
function isPicture(element: Element): boolean {
  if (attributeOf(element, "alt") !== "") return true;
  return [...attributesOf(element)].some(({ name }) => name.startsWith("aria-"));
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
      return hasAttribute(input, "switch") ? "switch" : "checkbox";
    case "radio":
      return "radio";
    case "range":
      return "slider";
    case "number":
      return "spinbutton";
    case "search":
      return hasAttribute(input, "list") ? "combobox" : "searchbox";
    default:
      return hasAttribute(input, "list") ? "combobox" : "textbox";
  }
}

function isRowHeader(cell: Element): boolean {
  const scope = attributeOf(cell, "scope");
  if (scope) return scope.startsWith("row");
  const row = parentElementOf(cell);
  const group = row && parentElementOf(row);
  return !(group && tagOf(group) === "thead") && row !== null && firstIn(row, ":scope > td") !== null;
}

function isNamed(element: Element): boolean {
  return ["aria-label", "aria-labelledby", "title"].some((name) => attributeOf(element, name)?.trim());
}

function isFocusable(element: Element): boolean {
  return isNativeControl(element) || hasAttribute(element, "tabindex");
}

/** Applications listen at their roots, and overlays around their dialogs: that is for what comes from inside. */
function holdsControls(element: Element): boolean {
  return (
    firstIn(element, "a[href], button, input, select, textarea, [role=button], h1, h2, main, ul, table") !==
    null
  );
}

/** `cursor: pointer` of its own: whoever merely inherits it is a part of something that can be pressed. */
function hasOwnPointer(element: Element): boolean {
  if (styleOf(element)?.cursor !== "pointer") return false;
  const parent = parentOf(element);
  const isInherited =
    parent !== null && ownerOf(parent) === ownerOf(element) && styleOf(parent)?.cursor === "pointer";
  return !isInherited && showsSomething(element);
}

/** An empty box that only changes the cursor is nothing to press. */
function showsSomething(element: Element): boolean {
  if (textContentOf(element).trim() || isNamed(element) || firstIn(element, "img, svg, canvas, [aria-label]"))
    return true;
  return ["::before", "::after"].some((part) => /["(]/.test(styleOf(element, part)?.content ?? ""));
}
