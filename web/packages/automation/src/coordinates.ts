/** Where a control stands: the keys of the containers around it, outermost first, then its own name. */

import { type Kind, keyOf, textOf } from "./containers";
import {
  childrenOf,
  isElement,
  nextSiblingOf,
  parentElementOf,
  previousSiblingOf,
  tagOf,
  topElementOf,
} from "./dom";
import { contentOf, parentOf } from "./frames";
import { isClosed, type Look, MOST_ELEMENTS } from "./look";
import type { Coordinate } from "./types";

export interface Container {
  readonly element: Element;
  readonly kind: Kind;
  /** With a number where a neighbour has the same: `Blue mug (2)`. */
  readonly key: string;
  /** Whether no neighbour has the same. */
  readonly isAlone: boolean;
  readonly outer: Container | null;
}

export interface Place {
  readonly coordinate: Coordinate;
  /** The innermost item that it lies in. */
  readonly item: Container | null;
  /** What its item says, or what stands around it where it has a namesake: tells it from others of the same name. */
  readonly around: string;
  /** Whether its coordinate alone tells it from all others. */
  readonly isAlone: boolean;
}

const MOST_STEPS = 4;

export class Coordinates {
  readonly #look: Look;
  readonly #containers = new Map<Element, Container | null>();
  readonly #numbered = new Map<Element, Map<Element, { key: string; isAlone: boolean }>>();
  readonly #namesakes = new Map<Element | null, Map<string, Map<Element, number>>>();
  readonly #places = new Map<Element, Place>();
  readonly #texts = new Map<Element, string>();
  readonly #sides = new Map<Element, string>();

  constructor(look: Look) {
    this.#look = look;
  }

  place(element: Element): Place {
    let place = this.#places.get(element);
    if (!place) {
      place = this.#placed(element);
      this.#places.set(element, place);
    }
    return place;
  }

  #placed(element: Element): Place {
    const inner = this.#around(element);
    const same = this.#sameAs(element, inner);
    const name = this.#look.name(element) || this.#look.role(element) || tagOf(element);
    const number = same.get(element) ?? 1;
    const item = itemOf(inner);
    const isAlone = same.size < 2 && areAlone(inner);
    return {
      coordinate: [...keysOf(inner).slice(-MOST_STEPS), same.size > 1 ? `${name} (${number})` : name],
      item,
      around: item ? this.#textOf(item.element) : same.size > 1 ? this.#neighbourhood(element) : "",
      isAlone,
    };
  }

  #textOf(item: Element): string {
    let text = this.#texts.get(item);
    if (text === undefined) {
      text = textOf(item);
      this.#texts.set(item, text);
    }
    return text;
  }

  /** The text next to an element, where nothing else tells it from its namesake. */
  #neighbourhood(element: Element): string {
    let at: Element | null = element;
    for (let up = 0; at && up < 3; up++, at = parentOf(at)) {
      const text = this.#sides.get(at) ?? withSides(at);
      this.#sides.set(at, text);
      if (text) return text;
    }
    return "";
  }

  /** What a container is called, whether or not it counts in coordinates. */
  titleOf(element: Element): string {
    const container = this.container(element);
    return container?.element === element ? container.key : this.#look.name(element);
  }

  /** The innermost container that an element lies in; one is not in itself. */
  #around(element: Element): Container | null {
    const parent = parentOf(element);
    return parent ? this.container(parent) : null;
  }

  /** The innermost container that an element lies in, or is. */
  container(element: Element): Container | null {
    const known = this.#containers.get(element);
    if (known !== undefined) return known;
    const outer = this.#around(element);
    const own = this.#own(element, outer);
    const found = own ?? outer;
    this.#containers.set(element, found);
    return found;
  }

  #own(element: Element, outer: Container | null): Container | null {
    const kind = this.#look.kind(element);
    if (!kind) return null;
    const { key, isAlone } = this.#numberedKey(element, kind);
    return key ? { element, kind, key, isAlone, outer } : null;
  }

  #numberedKey(element: Element, kind: Kind): { key: string; isAlone: boolean } {
    const parent = parentElementOf(element);
    if (!parent || kind !== "item") return { key: keyOf(element, kind, this.#look), isAlone: true };
    let keys = this.#numbered.get(parent);
    if (!keys) {
      const items = [...childrenOf(parent)].filter((each) => this.#look.kind(each) === "item");
      keys = numbered(items.map((item) => [item, keyOf(item, "item", this.#look)]));
      this.#numbered.set(parent, keys);
    }
    return keys.get(element) ?? { key: "", isAlone: true };
  }

  /** The controls of the same role and name in the same container, with their numbers in order. */
  #sameAs(element: Element, inner: Container | null): ReadonlyMap<Element, number> {
    const holder = inner?.element ?? null;
    let inside = this.#namesakes.get(holder);
    if (!inside) {
      inside = this.#grouped(holder ?? topElementOf(this.#look.page));
      this.#namesakes.set(holder, inside);
    }
    const same = inside.get(this.#slot(element));
    return same?.has(element) ? same : new Map([[element, 1]]);
  }

  /** The controls of one container, those apart that lie in another one inside of it. */
  #grouped(holder: Element): Map<string, Map<Element, number>> {
    const found = new Map<string, Map<Element, number>>();
    let left = MOST_ELEMENTS;
    const visit = (element: Element): void => {
      if (left-- < 0 || this.#look.isOut(element)) return;
      if (element !== holder && this.#look.isUsable(element)) {
        const same = found.get(this.#slot(element)) ?? new Map<Element, number>();
        found.set(this.#slot(element), same.set(element, same.size + 1));
      }
      const isOther = element !== holder && this.container(element)?.element === element;
      if (isOther || isClosed(element)) return;
      for (const node of contentOf(element)) if (isElement(node)) visit(node);
    };
    visit(holder);
    return found;
  }

  #slot(element: Element): string {
    return `${this.#look.role(element)} ${this.#look.name(element)}`;
  }
}

export function itemOf(container: Container | null): Container | null {
  for (let at = container; at; at = at.outer) if (at.kind === "item") return at;
  return null;
}

function keysOf(container: Container | null): string[] {
  const keys: string[] = [];
  for (let at = container; at; at = at.outer) keys.unshift(at.key);
  return keys;
}

function areAlone(container: Container | null): boolean {
  for (let at = container; at; at = at.outer) if (!at.isAlone) return false;
  return true;
}

function numbered(items: readonly [Element, string][]): Map<Element, { key: string; isAlone: boolean }> {
  const totals = new Map<string, number>();
  for (const [, key] of items) totals.set(key, (totals.get(key) ?? 0) + 1);
  const counts = new Map<string, number>();
  const found = new Map<Element, { key: string; isAlone: boolean }>();
  for (const [item, key] of items) {
    const number = (counts.get(key) ?? 0) + 1;
    counts.set(key, number);
    const isAlone = totals.get(key) === 1 && key !== "";
    found.set(item, { key: key === "" ? `#${number}` : isAlone ? key : `${key} (${number})`, isAlone });
  }
  return found;
}

/** What an element says, with what stands right before and after it; empty where nothing does. */
function withSides(element: Element): string {
  const sides = [previousSiblingOf(element), nextSiblingOf(element)];
  const texts = sides.map((node) => (node ? textOf(node, 200) : ""));
  const beside = texts.join(" ").trim();
  return beside && `${textOf(element, 200)} ${beside}`;
}
