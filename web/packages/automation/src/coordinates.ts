/** Where a control stands: the keys of the containers around it, outermost first, then its own name. */

import { type Kind, keyOf, textOf } from "./containers";
import { childrenOf } from "./dom";
import { parentOf } from "./frames";
import type { Look } from "./look";
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
  readonly #namesakes = new Map<string, Element[]>();
  readonly #ids = new Map<Element | null, number>();
  readonly #places = new Map<Element, Place>();
  readonly #texts = new Map<Element, string>();

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
    const name = this.#look.name(element) || this.#look.role(element) || element.localName;
    const number = same.indexOf(element) + 1;
    const item = itemOf(inner);
    const isAlone = same.length < 2 && areAlone(inner);
    return {
      coordinate: [...keysOf(inner).slice(-MOST_STEPS), same.length > 1 ? `${name} (${number})` : name],
      item,
      around: item ? this.#textOf(item.element) : same.length > 1 ? neighbourhood(element) : "",
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
    const parent = element.parentElement;
    if (!parent || kind !== "item") return { key: keyOf(element, kind), isAlone: true };
    let keys = this.#numbered.get(parent);
    if (!keys) {
      const items = [...childrenOf(parent)].filter((each) => this.#look.kind(each) === "item");
      keys = numbered(items);
      this.#numbered.set(parent, keys);
    }
    return keys.get(element) ?? { key: "", isAlone: true };
  }

  /** The controls of the same role and name in the same container, in order. */
  #sameAs(element: Element, inner: Container | null): Element[] {
    const [role, name] = [this.#look.role(element), this.#look.name(element)];
    if (this.#namesakes.size === 0) this.#group();
    const all = this.#namesakes.get(this.#slot(inner, role, name)) ?? [];
    return all.includes(element) ? all : [element];
  }

  #group(): void {
    for (const each of this.#look.controls()) {
      const slot = this.#slot(this.#around(each), this.#look.role(each), this.#look.name(each));
      const before = this.#namesakes.get(slot);
      if (before) before.push(each);
      else this.#namesakes.set(slot, [each]);
    }
  }

  #slot(inner: Container | null, role: string, name: string): string {
    const holder = inner?.element ?? null;
    const id = this.#ids.get(holder) ?? this.#ids.size;
    this.#ids.set(holder, id);
    return `${id} ${role} ${name}`;
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

function numbered(items: readonly Element[]): Map<Element, { key: string; isAlone: boolean }> {
  const keys = items.map((item) => keyOf(item, "item"));
  const totals = new Map<string, number>();
  for (const key of keys) totals.set(key, (totals.get(key) ?? 0) + 1);
  const counts = new Map<string, number>();
  const found = new Map<Element, { key: string; isAlone: boolean }>();
  items.forEach((item, at) => {
    const key = keys[at] ?? "";
    const number = (counts.get(key) ?? 0) + 1;
    counts.set(key, number);
    const isAlone = totals.get(key) === 1 && key !== "";
    found.set(item, { key: key === "" ? `#${number}` : isAlone ? key : `${key} (${number})`, isAlone });
  });
  return found;
}

/** The text next to an element, where nothing else tells it from its namesake. */
function neighbourhood(element: Element): string {
  let at: Element | null = element;
  for (let up = 0; at && up < 3; up++, at = parentOf(at)) {
    const text = textOf(at, 200);
    const beside = [at.previousSibling, at.nextSibling]
      .map((node) => (node?.textContent ?? "").slice(0, 200))
      .join(" ");
    if (beside.trim()) return `${text} ${beside.trim()}`;
  }
  return "";
}
