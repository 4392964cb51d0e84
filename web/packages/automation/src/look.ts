/**
 * One look at the page. While it lasts the page is taken to stand still, so everything is asked for once: roles, names
 * and places of the same elements are wanted again and again, and styles are what costs most.
 */

import { HoverRules } from "./act/hover";
import { type Consequence, consequenceOf } from "./consequences";
import { cardsIn, type Kind, kindOf } from "./containers";
import {
  attributeOf,
  firstIn,
  hasBox,
  isElement,
  isMatch,
  isShown,
  parentElementOf,
  styleOf,
  tagOf,
  topElementOf,
} from "./dom";
import { contentOf, parentOf } from "./frames";
import { Labels } from "./labels";
import { nameOf } from "./names";
import { ownMark, secretsIn } from "./private";
import { isControl, roleOf } from "./roles";
import type { Secrets } from "./secrets";
import { OWN } from "./visible";

const UNSEEN = new Set(
  "script style template noscript head title meta link base source track param datalist".split(" "),
);

/** Beyond that a page would stand still for as long as it is looked at. */
export const MOST_ELEMENTS = 15_000;

const NONE: ReadonlySet<Element> = new Set();

export class Look {
  readonly page: Document;
  readonly #excludes: (element: Element) => boolean;
  readonly #roles = new Map<Element, string>();
  readonly #names = new Map<Element, string>();
  readonly #controls = new Map<Element, boolean>();
  readonly #kinds = new Map<Element, Kind>();
  readonly #cards = new Map<Element, ReadonlySet<Element>>();
  readonly #out = new Map<Element, boolean>();
  readonly #seen = new Map<Element, boolean>();
  readonly #marked = new Map<Element, boolean>();
  readonly #consequences = new Map<Element, Consequence | null>();
  readonly #hover = new HoverRules();
  readonly #labels = new Labels();
  #secrets: Secrets | undefined;
  #all: readonly Element[] | undefined;

  constructor(page: Document, excludes: (element: Element) => boolean = () => false) {
    this.page = page;
    this.#excludes = excludes;
  }

  /** What stood in the private fields of the page, until now. */
  get secrets(): Secrets {
    this.#secrets ??= secretsIn(this.page, this);
    return this.#secrets;
  }

  withoutSecrets(text: string): string {
    return this.secrets.without(text);
  }

  readonly labels = this.#labels.of;

  role(element: Element): string {
    return remembered(this.#roles, element, roleOf);
  }

  name(element: Element): string {
    return remembered(this.#names, element, () => nameOf(element, this));
  }

  isControl(element: Element): boolean {
    return remembered(this.#controls, element, () => isControl(element, this.role(element)));
  }

  /** Whether the visitor is asked before it is pressed. */
  consequence(element: Element): Consequence | null {
    return remembered(this.#consequences, element, () => consequenceOf(element, this));
  }

  /** What kind of container an element is, if any. */
  kind(element: Element): Kind {
    return remembered(this.#kinds, element, () => {
      const parent = parentElementOf(element);
      const cards = parent ? remembered(this.#cards, parent, cardsIn) : NONE;
      return kindOf(element, this.role(element), cards);
    });
  }

  /** Whether the page marked this as private, or something around it. */
  readonly isMarked = (element: Element): boolean =>
    remembered(this.#marked, element, () => {
      const own = ownMark(element);
      if (own !== undefined) return own;
      const parent = parentOf(element);
      return parent !== null && this.isMarked(parent);
    });

  /** Not hidden itself, though what is inside could be shown even so. */
  isSeen(element: Element): boolean {
    return remembered(this.#seen, element, () => isShown(element) || hasNoBox(element));
  }

  /** Whether it is hidden, and comes up under the pointer. */
  isOnHover(element: Element): boolean {
    return !this.isSeen(element) && this.#hover.show(element);
  }

  /** Whether it is a control that is shown, or would be under the pointer. */
  isUsable(element: Element): boolean {
    return this.isControl(element) && (this.isSeen(element) || this.isOnHover(element));
  }

  /** Every control that is shown, or would be under the pointer, in the order of the page. */
  controls(): readonly Element[] {
    if (!this.#all) {
      const found: Element[] = [];
      this.#collect(topElementOf(this.page), found, { left: MOST_ELEMENTS });
      this.#all = found;
    }
    return this.#all;
  }

  /** Whether nothing of this element is to be told: it is not rendered, not meant to be read, or the chat's own. */
  isOut(element: Element): boolean {
    return remembered(this.#out, element, () => this.#isLeftOut(element));
  }

  #isLeftOut(element: Element): boolean {
    if (UNSEEN.has(tagOf(element)) || attributeOf(element, "aria-hidden") === "true") return true;
    if (isMatch(element, OWN) || this.#excludes(element)) return true;
    return !this.isSeen(element) && !hasBox(element) && !this.#hover.show(element);
  }

  #collect(element: Element, found: Element[], budget: { left: number }): void {
    if (budget.left-- < 0 || this.isOut(element)) return;
    if (this.isUsable(element)) found.push(element);
    if (isClosed(element)) return;
    for (const node of contentOf(element)) if (isElement(node)) this.#collect(node, found, budget);
  }
}

/** What holds nothing that is told by itself: the options of a select are told with it. Drawings may hold links. */
export function isClosed(element: Element): boolean {
  const tag = tagOf(element);
  if (tag === "svg") return !holdsLinks(element);
  return /^(select|textarea|math|audio|video|canvas|object|embed)$/.test(tag);
}

function holdsLinks(drawing: Element): boolean {
  return firstIn(drawing, "a") !== null;
}

function hasNoBox(element: Element): boolean {
  return styleOf(element)?.display === "contents";
}

function remembered<T>(kept: Map<Element, T>, element: Element, ask: (element: Element) => T): T {
  const known = kept.get(element);
  if (known !== undefined) return known;
  const answer = ask(element);
  kept.set(element, answer);
  return answer;
}
