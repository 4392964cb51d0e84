/**
 * Controls that show themselves only under the pointer. A script cannot hover: it reads in the style sheets which
 * elements would be shown, and acts on those as if the pointer were there.
 */

import {
  attributeOf,
  hasAttribute,
  hasBox,
  isMatch,
  isShown,
  ownerOf,
  type Root,
  rootOf,
  sheetsOf,
  styleOf,
  topElementOf,
} from "../dom";
import { parentOf } from "../frames";
import { isVisible } from "../visible";

/** Selectors, without the hovering, of what is shown under the pointer: by which of the two properties. */
interface Selectors {
  readonly display: readonly string[];
  readonly visibility: readonly string[];
}

interface Reading extends Selectors {
  readonly count: number;
  readonly first: CSSRule | undefined;
  readonly last: CSSRule | undefined;
}

const MOST_RULES = 5_000;
const NOTHING: Selectors = { display: [], visibility: [] };

/** Sheets seldom change, and to read a large one takes longer than to look at the page. */
const readings = new WeakMap<CSSStyleSheet, Reading>();

/** Whether the element is hidden now and rules of the page show it, and what hides it, under the pointer. */
export function isShownByHover(element: Element): boolean {
  return new HoverRules().show(element);
}

/** The rules that show something under the pointer, for as long as the page stands still. */
export class HoverRules {
  readonly #selectors = new Map<Root, { display: string; visibility: string }>();
  readonly #shown = new Map<Element, boolean>();

  /** Whether they show this element, which is hidden now. */
  show(element: Element): boolean {
    let shown = this.#shown.get(element);
    if (shown === undefined) {
      shown = this.#shows(element);
      this.#shown.set(element, shown);
    }
    return shown;
  }

  #shows(element: Element): boolean {
    if (hasAttribute(element, "hidden") || attributeOf(element, "aria-hidden") === "true") return false;
    const around = parentOf(element);
    const parent = around && ownerOf(around) === ownerOf(element) ? around : null;
    const { display, visibility } = this.#of(rootOf(element));
    const style = display || visibility || !parent ? styleOf(element) : null;
    if (style?.display === "none")
      return matches(element, display) && (!parent || isVisible(parent) || this.show(parent));
    if (style && style.visibility !== "visible" && matches(element, visibility))
      return !parent || hasBox(parent) || this.show(parent);
    // What hides it is further out, or nothing that the pointer would change.
    return parent !== null && !isShown(parent) && this.show(parent);
  }

  #of(root: Root): { display: string; visibility: string } {
    let selectors = this.#selectors.get(root);
    if (!selectors) {
      const read = sheetsOf(root).map(selectorsOf);
      selectors = {
        display: read.flatMap((each) => each.display).join(", "),
        visibility: read.flatMap((each) => each.visibility).join(", "),
      };
      this.#selectors.set(root, selectors);
    }
    return selectors;
  }
}

function selectorsOf(sheet: CSSStyleSheet): Selectors {
  try {
    if (sheet.disabled) return NOTHING;
    const { cssRules } = sheet;
    const [count, first, last] = [cssRules.length, cssRules[0], cssRules[cssRules.length - 1]];
    const known = readings.get(sheet);
    if (known?.count === count && known.first === first && known.last === last) return known;
    const reading = { ...selectorsIn(cssRules), count, first, last };
    readings.set(sheet, reading);
    return reading;
  } catch {
    // Of another origin: nothing in it can be read.
    return NOTHING;
  }
}

function selectorsIn(all: CSSRuleList): Selectors {
  const found = { display: [] as string[], visibility: [] as string[] };
  let left = MOST_RULES;
  const read = (rules: CSSRuleList, outer: string): void => {
    for (const rule of rules) {
      if (left-- <= 0) return;
      const selector =
        "selectorText" in rule ? resolved((rule as CSSStyleRule).selectorText ?? "", outer) : outer;
      if ("style" in rule && selector.includes(":hover")) {
        const { display, visibility } = (rule as CSSStyleRule).style;
        if (display !== "" && display !== "none") found.display.push(...hovering(selector));
        if (visibility === "visible") found.visibility.push(...hovering(selector));
      }
      if ("cssRules" in rule) read((rule as CSSGroupingRule).cssRules, selector);
    }
  };
  read(all, "");
  return found;
}

/** The selector of a rule that stands inside of another. */
function resolved(selector: string, outer: string): string {
  if (!outer) return selector;
  return parts(selector, ",")
    .map((each) => (each.includes("&") ? each.replaceAll("&", `:is(${outer})`) : `:is(${outer}) ${each}`))
    .join(", ");
}

/** Those where something else than what is shown lies under the pointer: it cannot lie over what is hidden. */
function hovering(selector: string): string[] {
  return parts(selector, ",")
    .filter((each) => parts(each, " >+~").slice(0, -1).join(" ").includes(":hover"))
    .map((each) => each.replaceAll(":hover", ":is(*)"))
    .filter(isSound);
}

/** What stands between these signs, those in brackets apart. */
function parts(selector: string, between: string): string[] {
  const found = [""];
  let depth = 0;
  for (const sign of selector.trim()) {
    if (sign === "(" || sign === "[") depth++;
    if (sign === ")" || sign === "]") depth--;
    if (depth === 0 && between.includes(sign)) found.push("");
    else found[found.length - 1] += sign;
  }
  return found.map((each) => each.trim()).filter(Boolean);
}

function isSound(selector: string): boolean {
  try {
    isMatch(topElementOf(document), selector);
    return true;
  } catch {
    return false;
  }
}

function matches(element: Element, selector: string): boolean {
  return selector !== "" && isMatch(element, selector);
}
