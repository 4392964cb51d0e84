/** What groups the things on a page, and what each group is called by those who look at it. */

import { childrenOf, isMatch } from "./dom";
import { contentOf } from "./frames";
import { nameOf } from "./names";
import { isMarked, MASK, toldText } from "./private";
import { cut, fold } from "./text";

/** `item`: one of many that are alike. `group`: anything else that has a name. */
export type Kind = "item" | "group" | "dialog" | "";

const LONGEST = 60;
const HEADINGS = "h1, h2, h3, h4, h5, h6, [role=heading]";
const ITEM_TAGS = new Set(["li", "article", "dt", "dd"]);
const ITEM_ROLES = new Set(["listitem", "row", "article", "treeitem"]);
const GROUP_TAGS = new Set("section fieldset form details figure aside nav table ul ol".split(" "));
const GROUP_ROLES = new Set(
  "region group radiogroup form tabpanel toolbar list table grid treegrid listbox menu tree search complementary navigation feed".split(
    " ",
  ),
);
const CARD_TAGS = /^(div|a|span|button)$|-/;
/** Text in these says what can be done, not what something is about. */
const MUTE = /^(button|select|textarea|script|style|template|noscript|svg|input|option)$/;

/** `cards` are those of the element's parent: what `cardsIn` found there. */
export function kindOf(element: Element, role: string, cards: ReadonlySet<Element>): Kind {
  if (role === "dialog" || role === "alertdialog") return "dialog";
  const tag = element.localName;
  if (ITEM_TAGS.has(tag) ? !/^(none|presentation|tab|option|menuitem)/.test(role) : ITEM_ROLES.has(role))
    return "item";
  if (GROUP_TAGS.has(tag) || GROUP_ROLES.has(role)) return "group";
  return cards.has(element) ? "item" : "";
}

/** Those of its children that are built alike, three or more, and each more than a field of a form. */
export function cardsIn(parent: Element): ReadonlySet<Element> {
  const cards = new Set<Element>();
  if (parent.childElementCount < 3) return cards;
  const builds = new Map<string, Element[]>();
  for (const child of childrenOf(parent)) {
    if (!child.firstElementChild || !CARD_TAGS.test(child.localName)) continue;
    const build = buildOf(child);
    const alike = builds.get(build);
    if (alike) alike.push(child);
    else builds.set(build, [child]);
  }
  for (const alike of builds.values())
    if (alike.length > 2) for (const card of telling(alike)) cards.add(card);
  return cards;
}

/** What the container is called: its label, heading, legend, caption or row header; an item also by its first text. */
export function keyOf(element: Element, kind: Kind): string {
  const label = labelOf(element);
  // The keys of what is private would tell what it is.
  if (!label && isMarked(element)) return MASK;
  return cut(fold(label || headingOf(element, kind) || (kind === "item" ? firstText(element) : "")), LONGEST);
}

/** The first of what an item says, what its buttons say apart. */
export function firstText(element: Element): string {
  for (const node of contentOf(element)) {
    const text =
      node.nodeType === 3 ? fold((node as Text).data) : node.nodeType === 1 ? textIn(node as Element) : "";
    // A number or a bullet in front of it is no name.
    if (/[\p{L}\p{N}]/u.test(text)) return text;
  }
  return "";
}

/** Everything that an element says, in bounds. The clocks in it apart: they tell nothing from anything else. */
export function textOf(element: Element, most = 400): string {
  let text = (element.textContent ?? "").slice(0, most * 4);
  for (const clock of element.querySelectorAll("time, [role=timer]"))
    text = text.replace(clock.textContent || " ", " ");
  return fold(text).slice(0, most);
}

function textIn(element: Element): string {
  if (MUTE.test(element.localName) || element.getAttribute("role") === "button") return "";
  if (element.hasAttribute("data-agent-private")) return "";
  if (element.getAttribute("aria-hidden") === "true" || !element.checkVisibility()) return "";
  if (element.localName === "img") return fold(element.getAttribute("alt") ?? "");
  return firstText(element);
}

function labelOf(element: Element): string {
  const isLabelled = ["aria-label", "aria-labelledby"].some((name) => element.getAttribute(name)?.trim());
  return isLabelled ? nameOf(element) : "";
}

function headingOf(element: Element, kind: Kind): string {
  switch (element.localName) {
    case "fieldset":
      return said(element.querySelector(":scope > legend"));
    case "table":
      return said(element.querySelector(":scope > caption")) || before(element);
    case "details":
      return said(element.querySelector(":scope > summary"));
    case "figure":
      return said(element.querySelector("figcaption"));
    case "ul":
    case "ol":
      return before(element);
    case "tr":
      return said(element.querySelector(":scope > th"));
  }
  const heading = element.querySelector(HEADINGS);
  if (heading && !isMarked(heading) && (kind !== "group" || isOnlyHeading(element, heading)))
    return said(heading);
  return kind === "dialog" ? firstText(element) : "";
}

/** A form that spans several headed parts is not called after the first of them. */
function isOnlyHeading(element: Element, heading: Element): boolean {
  return (
    element.localName !== "form" ||
    element.querySelectorAll(HEADINGS).length === 1 ||
    heading.parentElement === element
  );
}

/** The heading that stands right before a list or a table. */
function before(element: Element): string {
  const previous = element.previousElementSibling;
  return previous && isMatch(previous, HEADINGS) ? said(previous) : "";
}

function said(element: Element | null): string {
  return element ? toldText(element) : "";
}

/** Those with a heading or a picture, or with a button that others of them have too. */
function telling(alike: readonly Element[]): Element[] {
  const buttons = alike.map(mainButton);
  const counts = new Map<string, number>();
  for (const button of buttons) counts.set(button, (counts.get(button) ?? 0) + 1);
  return alike.filter((element, at) => {
    const button = buttons[at] ?? "";
    return (
      (button !== "" && (counts.get(button) ?? 0) > 1) || element.querySelector(`${HEADINGS}, img, picture`)
    );
  });
}

/** By its class, or where it has none by what it is made of. */
function buildOf(element: Element): string {
  const [first] = element.classList;
  if (first) return `${element.localName}.${first}`;
  return [element, ...childrenOf(element)]
    .slice(0, 4)
    .map((each) => each.localName)
    .join(" ");
}

function mainButton(element: Element): string {
  const button = element.querySelector("button, [role=button], input[type=checkbox], input[type=radio]");
  return button
    ? `${button.localName} ${fold(button.getAttribute("aria-label") ?? button.textContent ?? "")}`
    : "";
}
