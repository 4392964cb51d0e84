/** What groups the things on a page, and what each group is called by those who look at it. */

import {
  allIn,
  attributeOf,
  childCountOf,
  childrenOf,
  elementBefore,
  firstChildOf,
  firstElementOf,
  firstIn,
  hasAttribute,
  hasBox,
  isElement,
  isMatch,
  isText,
  nextSiblingOf,
  parentElementOf,
  tagOf,
  textContentOf,
} from "./dom";
import { contentOf } from "./frames";
import { type Asked, nameOf } from "./names";
import { MASK, toldText } from "./private";
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
/** Beyond that, what an element says no more tells it from others. */
const MOST_NODES = 500;
const CARD_TAGS = /^(div|a|span|button)$|-/;
/** Text in these says what can be done, not what something is about. */
const MUTE = /^(button|select|textarea|script|style|template|noscript|svg|input|option)$/;

/** `cards` are those of the element's parent: what `cardsIn` found there. */
export function kindOf(element: Element, role: string, cards: ReadonlySet<Element>): Kind {
  if (role === "dialog" || role === "alertdialog") return "dialog";
  const tag = tagOf(element);
  if (ITEM_TAGS.has(tag) ? !/^(none|presentation|tab|option|menuitem)/.test(role) : ITEM_ROLES.has(role))
    return "item";
  if (GROUP_TAGS.has(tag) || GROUP_ROLES.has(role)) return "group";
  return cards.has(element) ? "item" : "";
}

/** Those of its children that are built alike, three or more, and each more than a field of a form. */
export function cardsIn(parent: Element): ReadonlySet<Element> {
  const cards = new Set<Element>();
  if (childCountOf(parent) < 3) return cards;
  const builds = new Map<string, Element[]>();
  for (const child of childrenOf(parent)) {
    if (!firstElementOf(child) || !CARD_TAGS.test(tagOf(child))) continue;
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
export function keyOf(element: Element, kind: Kind, asked: Asked): string {
  const label = labelOf(element, asked);
  // The keys of what is private would tell what it is.
  if (!label && asked.isMarked(element)) return MASK;
  const key = fold(label || headingOf(element, kind, asked) || (kind === "item" ? firstText(element) : ""));
  return cut(asked.withoutSecrets(key, element), LONGEST);
}

/** The first of what an item says, what its buttons say apart. */
export function firstText(element: Element): string {
  for (const node of contentOf(element)) {
    const text = isText(node) ? fold(node.data) : isElement(node) ? textIn(node) : "";
    // A number or a bullet in front of it is no name.
    if (/[\p{L}\p{N}]/u.test(text)) return text;
  }
  return "";
}

/** What an element says, from its beginning. The clocks in it apart: they tell nothing from anything else. */
export function textOf(start: Node, most = 400): string {
  let text = "";
  let left = MOST_NODES;
  const read = (node: Node): void => {
    if (isText(node)) text += node.data;
    else if (isElement(node) && isClock(node)) text += " ";
    else
      for (let inside = firstChildOf(node); inside; inside = nextSiblingOf(inside)) {
        // As much again for what is folded away.
        if (text.length > most * 4 || left-- < 0) return;
        read(inside);
      }
  };
  read(start);
  return fold(text.slice(0, most * 4)).slice(0, most);
}

function isClock(element: Element): boolean {
  return tagOf(element) === "time" || attributeOf(element, "role") === "timer";
}

function textIn(element: Element): string {
  if (MUTE.test(tagOf(element)) || attributeOf(element, "role") === "button") return "";
  if (hasAttribute(element, "data-agent-private")) return "";
  if (attributeOf(element, "aria-hidden") === "true" || !hasBox(element)) return "";
  if (tagOf(element) === "img") return fold(attributeOf(element, "alt") ?? "");
  return firstText(element);
}

function labelOf(element: Element, asked: Asked): string {
  const isLabelled = ["aria-label", "aria-labelledby"].some((name) => attributeOf(element, name)?.trim());
  return isLabelled ? nameOf(element, asked) : "";
}

function headingOf(element: Element, kind: Kind, asked: Asked): string {
  const said = (part: Element | null): string => (part ? toldText(part, asked) : "");
  const before = (): string => {
    // The heading that stands right before a list or a table.
    const previous = elementBefore(element);
    return previous && isMatch(previous, HEADINGS) ? said(previous) : "";
  };
  switch (tagOf(element)) {
    case "fieldset":
      return said(firstIn(element, ":scope > legend"));
    case "table":
      return said(firstIn(element, ":scope > caption")) || before();
    case "details":
      return said(firstIn(element, ":scope > summary"));
    case "figure":
      return said(firstIn(element, "figcaption"));
    case "ul":
    case "ol":
      return before();
    case "tr":
      return said(firstIn(element, ":scope > th"));
  }
  const heading = firstIn(element, HEADINGS);
  if (heading && !asked.isMarked(heading) && (kind !== "group" || isOnlyHeading(element, heading)))
    return said(heading);
  return kind === "dialog" ? firstText(element) : "";
}

/** A form that spans several headed parts is not called after the first of them. */
function isOnlyHeading(element: Element, heading: Element): boolean {
  return (
    tagOf(element) !== "form" || allIn(element, HEADINGS).length === 1 || parentElementOf(heading) === element
  );
}

/** Those with a heading or a picture, or with a button that others of them have too. */
function telling(alike: readonly Element[]): Element[] {
  const buttons = alike.map(mainButton);
  const counts = new Map<string, number>();
  for (const button of buttons) counts.set(button, (counts.get(button) ?? 0) + 1);
  return alike.filter((element, at) => {
    const button = buttons[at] ?? "";
    return (button !== "" && (counts.get(button) ?? 0) > 1) || firstIn(element, `${HEADINGS}, img, picture`);
  });
}

/** By its class, or where it has none by what it is made of. */
function buildOf(element: Element): string {
  const first = attributeOf(element, "class")?.trim().split(/\s+/)[0];
  if (first) return `${tagOf(element)}.${first}`;
  return [element, ...childrenOf(element)]
    .slice(0, 4)
    .map((each) => tagOf(each))
    .join(" ");
}

function mainButton(element: Element): string {
  const button = firstIn(element, "button, [role=button], input[type=checkbox], input[type=radio]");
  return button ? `${tagOf(button)} ${fold(attributeOf(button, "aria-label") ?? textContentOf(button))}` : "";
}
