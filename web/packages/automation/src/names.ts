/** What an element is called: as a screen reader would say it, on one line. */

import { accessibleName, type Sight } from "./accname";
import {
  allIn,
  attributeOf,
  fieldValue,
  hasAttribute,
  isMatch,
  nearest,
  parentElementOf,
  rootOf,
  shownText,
  styleOf,
  tagOf,
  viewOf,
} from "./dom";
import { labelsOf } from "./labels";
import { hasMark, holdsMarked, isMarked, isPrivate, MASK, namersOf, secretsNear, toldText } from "./private";
import { isControl, roleOf } from "./roles";
import { isHandle } from "./sliders";
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
  isControl(element: Element): boolean;
  labels(element: Element): readonly Element[];
  /** A text without what stood in private fields. */
  withoutSecrets(text: string, element: Element): string;
}

const AFRESH: Asked = {
  role: roleOf,
  isMarked,
  isControl,
  labels: labelsOf,
  withoutSecrets: (text, element) => secretsNear(element).without(text),
};

export function nameOf(element: Element, asked = AFRESH): string {
  // A frame that was taken away has no window to ask for styles.
  if (!viewOf(element)) return "";
  const role = asked.role(element);
  const name = wholeName(element, role, asked);
  if (name && isPrivateName(element, role, asked)) return MASK;
  return name && cut(asked.withoutSecrets(name, element), LONGEST);
}

function wholeName(element: Element, role: string, asked: Asked): string {
  const stead = insteadOf(element);
  const given =
    stead && (tagOf(stead) === "label" ? toldText(stead, asked) : wholeName(stead, asked.role(stead), asked));
  if (given) return fold(given);
  const name = isNamedByAuthor(element, role)
    ? ""
    : accessibleName(element, new Shown(element, role, asked)) || nameOnceShown(element, role, asked);
  if (name) return name;
  for (const attribute of ["aria-label", "placeholder", "aria-placeholder", "title"]) {
    const given = fold(attributeOf(element, attribute) ?? "");
    if (given) return given;
  }
  // What is a button only by its listener has no role that is named by what it holds.
  if (!BY_CONTENT.has(role) && (role || !asked.isControl(element))) return "";
  return fold(holdsMarked(element) ? toldText(element, asked) : shownText(element));
}

/** What is named where jQuery UI's controls are not: the slider around a handle, the list that a selectmenu hides. */
function insteadOf(element: Element): Element | null {
  if (isHandle(element)) return parentElementOf(element);
  if (!isMatch(element, ".ui-selectmenu-button")) return null;
  const id = attributeOf(element, "id") ?? "";
  return allIn(rootOf(element), "label").find((label) => attributeOf(label, "for") === id) ?? null;
}

/** Rows, captions and legends: they name others, and are called something themselves only where it is written. */
function isNamedByAuthor(element: Element, role: string): boolean {
  if (hasAttribute(element, "aria-labelledby")) return false;
  if (/^(legend|caption)$/.test(tagOf(element))) return true;
  return role === "row" && !nearest(element, "[role=grid], [role=treegrid]");
}

/** What is hidden, and comes up under the pointer, is called what it will be called then. */
function nameOnceShown(element: Element, role: string, asked: Asked): string {
  const style = styleOf(element);
  const isHidden = style?.display === "none" || style?.visibility !== "visible";
  return isHidden ? accessibleName(element, new Shown(element, role, asked, true)) : "";
}

/** The elements on the way to a name, as they are seen; with `asShown`, as if what is hidden were not. */
class Shown implements Sight {
  readonly #element: Element;
  readonly #isTreeItem: boolean;
  readonly #asShown: boolean;
  readonly #asked: Asked;

  constructor(element: Element, role: string, asked: Asked, asShown = false) {
    this.#element = element;
    this.#isTreeItem = role === "treeitem";
    this.#asked = asked;
    this.#asShown = asShown;
  }

  role(element: Element): string {
    return this.#asked.role(element);
  }

  labels(element: Element): readonly Element[] {
    return this.#asked.labels(element);
  }

  value(element: Element): string {
    return isPrivate(element, this.#asked) ? "" : fieldValue(element);
  }

  generated(element: Element, part: "::before" | "::after"): string {
    const content = styleOf(element, part)?.content ?? "";
    return /^["'].*["']$/.test(content) ? content.slice(1, -1) : "";
  }

  display(element: Element): string {
    const tag = tagOf(element);
    // Never rendered themselves, though what they stand for is.
    if (tag === "area") return "inline";
    const isItself = element === this.#element;
    // What is marked in it is not a part of what it is called, nor are the branches of a tree.
    if (!isItself && hasMark(element) && !this.#asked.isMarked(this.#element)) return "none";
    if (this.#isTreeItem && attributeOf(element, "role") === "group") return "none";
    if (hasAttribute(element, "hidden") || attributeOf(element, "aria-hidden") === "true") return "none";
    const style = styleOf(element);
    if (!style) return "none";
    const { display, visibility } = style;
    if (this.#asShown && (isItself || visibility !== "visible")) return isItself ? "inline-block" : display;
    if (visibility === "hidden") return "none";
    const isApart = display === "inline" && (APART.test(tag) || hasAttribute(element, "aria-label"));
    return isApart ? "inline-block" : display;
  }
}

/** Called by what is marked, though it is not marked itself, it would tell that; or it is a part of what is marked. */
function isPrivateName(element: Element, role: string, { isMarked, labels }: Asked): boolean {
  if (isMarked(element)) return isContent(element, role);
  return namersOf(element, labels).some((each) => isMarked(each));
}

/** In what is marked as private, labels of fields and buttons are told; what is a part of the contents is not. */
function isContent(element: Element, role: string): boolean {
  const isLabelled = hasAttribute(element, "aria-label") || hasAttribute(element, "aria-labelledby");
  return !isLabelled && CONTENTS.has(role);
}
