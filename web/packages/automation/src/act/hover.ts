/**
 * Controls that show themselves only under the pointer. A script cannot hover: it reads in the style sheets which
 * elements would be shown, and acts on those as if the pointer were there.
 */

import { frameOf, parentOf } from "../frames";
import { viewOf } from "./events";

const MOST_RULES = 5_000;

/** Whether the element is hidden now and a rule of the page shows it, or what hides it, under the pointer. */
export function isShownByHover(element: Element): boolean {
  const hidden = hiding(element);
  return hidden !== null && hoverSelectors(hidden).some((selector) => matches(hidden, selector));
}

/** The outermost element that is not rendered; null where all of them are, and where a frame is what is hidden. */
function hiding(element: Element): Element | null {
  let found: Element | null = null;
  for (let at: Element | null = element; at; at = parentOf(at)) {
    if (at === frameOf(element.ownerDocument)) break;
    const style = viewOf(at)?.getComputedStyle(at);
    if (!style || at.hasAttribute("hidden") || at.getAttribute("aria-hidden") === "true") return null;
    if (style.display === "none" || (style.visibility !== "visible" && at === element)) found = at;
  }
  return found;
}

/** The selectors, without the hovering, of rules that show something under the pointer. */
function hoverSelectors(element: Element): string[] {
  const root = element.getRootNode() as Document | ShadowRoot;
  const sheets = [...(root.styleSheets ?? []), ...(root.adoptedStyleSheets ?? [])];
  const found: string[] = [];
  let left = MOST_RULES;
  const read = (rules: CSSRuleList) => {
    for (const rule of rules) {
      if (left-- <= 0) return;
      if ("selectorText" in rule && shows(rule as CSSStyleRule))
        found.push(...hovering(rule as CSSStyleRule));
      if ("cssRules" in rule) read((rule as CSSGroupingRule).cssRules);
    }
  };
  for (const sheet of sheets) {
    try {
      read(sheet.cssRules);
    } catch {
      // Of another origin: nothing in it can be read.
    }
  }
  return found;
}

function shows({ selectorText, style }: CSSStyleRule): boolean {
  if (!selectorText?.includes(":hover")) return false;
  return (style.display !== "" && style.display !== "none") || style.visibility === "visible";
}

function hovering({ selectorText }: CSSStyleRule): string[] {
  return selectorText
    .split(",")
    .filter((selector) => selector.includes(":hover"))
    .map((selector) => selector.replaceAll(":hover", ""));
}

function matches(element: Element, selector: string): boolean {
  try {
    return element.matches(selector);
  } catch {
    // `:hover` stood alone, or inside of another selector's parentheses.
    return false;
  }
}
