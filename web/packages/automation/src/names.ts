/** What an element is called: as a screen reader would say it, on one line. */

import { computeAccessibleName } from "dom-accessibility-api";
import { hasMark, isMarked, MASK, namersOf, secretsNear, toldText, without } from "./private";
import { isControl, roleOf } from "./roles";
import { cut, fold } from "./text";

const LONGEST = 120;
/** Called by what they hold, whatever else the library makes of their `role`. */
const BY_CONTENT = new Set(
  "button link tab menuitem menuitemcheckbox menuitemradio option heading treeitem checkbox radio switch term".split(
    " ",
  ),
);
/** What these are called is what they say. */
const CONTENTS = new Set([
  "",
  "link",
  "option",
  "treeitem",
  "cell",
  "gridcell",
  "heading",
  "row",
  "img",
  "term",
]);
/** Inline to the browser, but nobody reads across them as if they were not there. */
const APART = /^(br|wbr|img|input|select|textarea|button)$/;

/** What is asked for again and again on the way to a name; a look at the page remembers it. */
export interface Asked {
  role(element: Element): string;
  isMarked(element: Element): boolean;
}

const AFRESH: Asked = { role: roleOf, isMarked };

export function nameOf(element: Element, asked = AFRESH): string {
  // A frame that was taken away has no window to ask for styles.
  if (!element.ownerDocument.defaultView) return "";
  const role = asked.role(element);
  const name = wholeName(element, role);
  if (name && isPrivateName(element, role, asked)) return MASK;
  return cut(masked(element, name, asked), LONGEST);
}

function wholeName(element: Element, role: string): string {
  const name = isNamedByAuthor(element, role)
    ? ""
    : accessibleName(element, role) || nameOnceShown(element, role);
  if (name) return name;
  for (const attribute of ["aria-label", "placeholder", "aria-placeholder", "title"]) {
    const given = fold(element.getAttribute(attribute) ?? "");
    if (given) return given;
  }
  // What is a button only by its listener has no role that is named by what it holds.
  if (!BY_CONTENT.has(role) && (role || !isControl(element))) return "";
  if (element.querySelector("[data-agent-private]")) return fold(toldText(element));
  // biome-ignore lint/performance/useDomNodeTextContent: what is not rendered is not what it is called.
  return fold((element as HTMLElement).innerText ?? element.textContent ?? "");
}

/** Rows, captions and legends: they name others, and are called something themselves only where it is written. */
function isNamedByAuthor(element: Element, role: string): boolean {
  if (element.hasAttribute("aria-labelledby")) return false;
  if (/^(legend|caption)$/.test(element.localName)) return true;
  return role === "row" && !element.closest("[role=grid], [role=treegrid]");
}

/** What is hidden, and comes up under the pointer, is called what it will be called then. */
function nameOnceShown(element: Element, role: string): string {
  const style = element.ownerDocument.defaultView?.getComputedStyle(element);
  const isHidden = style?.display === "none" || style?.visibility !== "visible";
  return isHidden ? accessibleName(element, role, true) : "";
}

function accessibleName(element: Element, role: string, asShown = false): string {
  const view = element.ownerDocument.defaultView as Window;
  const isTreeItem = role === "treeitem";
  const style = (each: Element, pseudo?: string | null): CSSStyleDeclaration => {
    if (pseudo) return view.getComputedStyle(each, pseudo);
    // Never rendered themselves, though what they stand for is.
    if (each.localName === "area") return shownAs("inline");
    // What is marked in it is not a part of what it is called, nor are the branches of a tree.
    if (each !== element && hasMark(each) && !isMarked(element)) return shownAs("none");
    if (isTreeItem && each.getAttribute("role") === "group") return shownAs("none");
    const own = view.getComputedStyle(each);
    if (asShown && (each === element || own.visibility !== "visible"))
      return shownAs(each === element ? "inline-block" : own.display);
    const isApart = APART.test(each.localName) || each.hasAttribute("aria-label");
    return isApart && own.display === "inline" && own.visibility === "visible"
      ? shownAs("inline-block")
      : own;
  };
  const options = {
    computedStyleSupportsPseudoElements: true,
    getComputedStyle: style as typeof getComputedStyle,
  };
  return fold(computeAccessibleName(element, options));
}

/** As much of a style as the library asks for. */
function shownAs(display: string): CSSStyleDeclaration {
  const values: { readonly [property: string]: string } = { display, visibility: "visible" };
  return { getPropertyValue: (property: string) => values[property] ?? "" } as CSSStyleDeclaration;
}

/** Called by what is marked, though it is not marked itself, it would tell that; or it is a part of what is marked. */
function isPrivateName(element: Element, role: string, { isMarked }: Asked): boolean {
  return isMarked(element) ? isContent(element, role) : namersOf(element).some((each) => isMarked(each));
}

/** In what is marked as private, labels of fields and buttons are told; what is a part of the contents is not. */
function isContent(element: Element, role: string): boolean {
  const isLabelled = element.hasAttribute("aria-label") || element.hasAttribute("aria-labelledby");
  return !isLabelled && CONTENTS.has(role);
}

/** A name may quote the field that it stands beside; never what is private there. */
function masked(element: Element, name: string, { isMarked }: Asked): string {
  return name ? without(secretsNear(element, isMarked), name) : "";
}
