/** What an element is called: as a screen reader would say it, on one line. */

import { computeAccessibleName } from "dom-accessibility-api";
import { isMarked, MASK, secretsNear } from "./private";
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

export function nameOf(element: Element): string {
  // A frame that was taken away has no window to ask for styles.
  if (!element.ownerDocument.defaultView) return "";
  const name = wholeName(element);
  return name && isContent(element) ? MASK : cut(masked(element, name), LONGEST);
}

function wholeName(element: Element): string {
  const name = isNamedByAuthor(element) ? "" : accessibleName(element);
  if (name) return name;
  for (const attribute of ["aria-label", "placeholder", "aria-placeholder", "title"]) {
    const given = fold(element.getAttribute(attribute) ?? "");
    if (given) return given;
  }
  const role = roleOf(element);
  // What is a button only by its listener has no role that is named by what it holds.
  if (!BY_CONTENT.has(role) && (role || !isControl(element))) return "";
  // biome-ignore lint/performance/useDomNodeTextContent: what is not rendered is not what it is called.
  return fold((element as HTMLElement).innerText ?? element.textContent ?? "");
}

/** Rows, captions and legends: they name others, and are called something themselves only where it is written. */
function isNamedByAuthor(element: Element): boolean {
  if (element.hasAttribute("aria-labelledby")) return false;
  if (/^(legend|caption)$/.test(element.localName)) return true;
  return roleOf(element) === "row" && !element.closest("[role=grid], [role=treegrid]");
}

function accessibleName(element: Element): string {
  const view = element.ownerDocument.defaultView as Window;
  const isTreeItem = roleOf(element) === "treeitem";
  const style = (each: Element, pseudo?: string | null): CSSStyleDeclaration => {
    if (pseudo) return view.getComputedStyle(each, pseudo);
    // Never rendered themselves, though what they stand for is.
    if (each.localName === "area") return shownAs("inline");
    // The branches of a tree are not a part of what it is called.
    if (isTreeItem && each.getAttribute("role") === "group") return shownAs("none");
    const own = view.getComputedStyle(each);
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

/** In what is marked as private, labels of fields and buttons are told; what is a part of the contents is not. */
function isContent(element: Element): boolean {
  const isLabelled = element.hasAttribute("aria-label") || element.hasAttribute("aria-labelledby");
  return !isLabelled && CONTENTS.has(roleOf(element)) && isMarked(element);
}

/** A name may quote the field that it stands beside; never what is private there. */
function masked(element: Element, name: string): string {
  let safe = name;
  for (const secret of name ? secretsNear(element) : []) safe = safe.replaceAll(secret, MASK);
  return safe;
}
