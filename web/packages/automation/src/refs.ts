/**
 * References to what was shown. One belongs to one element for as long as that lives, and leads to it only while it is
 * still what it was: a list that reuses its elements for other items must never lead to a wrong click.
 */

import { sizeOf } from "./budget";
import type { Consequence } from "./consequences";
import { Coordinates, type Place } from "./coordinates";
import { attributesOf } from "./dom";
import { isAttached } from "./frames";
import { Look } from "./look";
import { isPrivate } from "./private";
import { isOn } from "./roles";
import { cut, quoted, similarity } from "./text";
import type { Asks, Coordinate, Found, Known } from "./types";
import { isVisible } from "./visible";

const MOST_CANDIDATES = 5;
const LONGEST_NAME = 60;
const LEAST_LIKE = 0.35;
/** How much of what an item says may change by what was done to it before it counts as another item. */
const SAME_ITEM = 0.5;

interface Record {
  readonly element: WeakRef<Element>;
  /** As it was when the model last saw it. */
  shown: Identity;
  /** As it was last told. The model sees it with the next state, not before: what it has asked for until then it asked
   * for without knowing of this. */
  told: Identity;
}

interface Identity extends Place {
  readonly role: string;
  readonly name: string;
  readonly marks: string;
  readonly isPrivate: boolean;
  readonly consequence: Consequence | null;
  /** Whether it is on: checked, pressed, expanded. */
  readonly isOn: boolean | null;
}

/** How far this tab has counted. A call that was decided before a reload must not lead to another control after it. */
const LAST = "pollux-refs";

function lastOfTab(): number {
  try {
    return Number(sessionStorage.getItem(LAST)) || 0;
  } catch {
    // Storage is blocked: then no conversation outlives the page either.
    return 0;
  }
}

function keepLast(last: number): void {
  try {
    sessionStorage.setItem(LAST, String(last));
  } catch {
    // As above.
  }
}

export class Refs {
  readonly #page: Document;
  readonly #excludes: ((element: Element) => boolean) | undefined;
  readonly #refs = new WeakMap<Element, string>();
  readonly #records = new Map<string, Record>();
  /** Items that a ref was followed into since the model last saw the page: what they say may have changed by that. */
  #entered = new WeakSet<Element>();
  #last = lastOfTab();
  #pass: { look: Look; coordinates: Coordinates } | undefined;

  constructor(page: Document, excludes?: (element: Element) => boolean) {
    this.#page = page;
    this.#excludes = excludes;
  }

  /** The element as it is now. A ref that was shown before keeps meaning what was shown, until `shown()`. */
  know(element: Element): Known {
    return this.#during(() => {
      const identity = this.#identity(element);
      const ref = this.#refs.get(element);
      const record = ref === undefined ? undefined : this.#records.get(ref);
      if (ref !== undefined && record) {
        record.told = identity;
        return known(ref, element, identity);
      }
      const fresh = `e${++this.#last}`;
      this.#refs.set(element, fresh);
      this.#records.set(fresh, { element: new WeakRef(element), shown: identity, told: identity });
      return known(fresh, element, identity);
    });
  }

  /** Whether a switch of some kind was on when the model saw it; null where it is none. */
  wasOn(ref: string): boolean | null {
    return this.#records.get(ref)?.shown.isOn ?? null;
  }

  /** Whether the model, and so the server, was told that this has consequences. */
  isAskedAbout(element: Element): boolean {
    const record = this.#records.get(this.#refs.get(element) ?? "");
    return Boolean(record?.shown.consequence);
  }

  /** The model sees what it was told: from here on that is what refs mean. Once for every state that is sent. */
  shown(): void {
    this.#entered = new WeakSet();
    keepLast(this.#last);
    for (const [ref, record] of this.#records) {
      if (record.element.deref()) record.shown = record.told;
      // Kept for a while, so that what is gone can be said to be gone.
      else if (this.#records.size > 5_000) this.#records.delete(ref);
    }
  }

  find(ref: string): Found {
    return this.#during((look) => {
      const record = this.#records.get(ref);
      if (!record) {
        const reason = `there is no ${ref.slice(0, 40)} on this page: use a ref of the page's outline`;
        return {
          ok: false,
          reason,
          candidates: this.#like({ name: ref, role: "", coordinate: [ref] }, look),
        };
      }
      const element = record.element.deref();
      const was = `${ref} (${record.shown.role || "element"} "${record.shown.name}")`;
      const refused = (why: string): Found => ({
        ok: false,
        reason: `${was} ${why}`,
        candidates: this.#like(record.shown, look),
      });
      if (!element || !isAttached(element, this.#page)) return refused("is no longer on the page");
      const now = this.#identity(element);
      const isEntered = now.item !== null && this.#entered.has(now.item.element);
      const difference = differs(record.shown, now, isEntered);
      if (difference) return refused(difference);
      if (now.item) this.#entered.add(now.item.element);
      return { ok: true, known: known(ref, element, now) };
    });
  }

  /** The only control at a coordinate, given whole or by its last steps. */
  byCoordinate(coordinate: Coordinate): Found {
    return this.#during((look, coordinates) => {
      const last = coordinate.at(-1);
      if (last === undefined)
        return { ok: false, reason: "a coordinate needs at least one step", candidates: [] };
      const wanted = `[${coordinate.map((step) => quoted(step)).join(", ")}]`;
      const there = look.controls().filter((each) => endsIn(coordinates.place(each).coordinate, coordinate));
      const only = there[0];
      if (only && there.length === 1) return { ok: true, known: this.know(only) };
      const reason = only
        ? `${there.length} controls are at ${wanted}: say which of them`
        : `there is no control at ${wanted.slice(0, 200)}`;
      const candidates = only
        ? there.slice(0, MOST_CANDIDATES).map((each) => this.know(each))
        : this.#like({ name: last, role: "", coordinate }, look);
      return { ok: false, reason, candidates };
    });
  }

  /** The refs of private controls that the model may know of and that are still there. */
  privateRefs(): string[] {
    return this.#during((look) => {
      const found: string[] = [];
      for (const [ref, { element, told }] of this.#records) {
        const there = element.deref();
        if (there && (told.isPrivate || isPrivate(there, look)) && isAttached(there, this.#page))
          found.push(ref);
      }
      return found;
    });
  }

  /** The controls about which the visitor may be asked, by name, as far as there is room for so many bytes. */
  asks(most: number): Asks[] {
    return this.#during((look) => {
      const found: Asks[] = [];
      let left = most;
      for (const [ref, { element, told }] of this.#records) {
        const there = element.deref();
        if (!there || !(told.isPrivate || told.consequence) || !isAttached(there, this.#page)) continue;
        const { role, consequence } = told;
        const marks = consequence && {
          consequential: consequence === "press" ? (true as const) : consequence,
        };
        const name = left > 0 ? cut(look.withoutSecrets(told.name), LONGEST_NAME) : "";
        found.push({ ref, role, name, ...marks });
        left -= sizeOf(name);
      }
      return found;
    });
  }

  /** Do something while the page stands still: what was looked at once is not looked at again. */
  during<T>(look: Look, act: () => T): T {
    const before = this.#pass;
    // A frame counts too, and so did the page that the visitor came back from.
    this.#last = Math.max(this.#last, lastOfTab());
    this.#pass = { look, coordinates: new Coordinates(look) };
    try {
      return act();
    } finally {
      this.#pass = before;
    }
  }

  /** What a container is called; empty where it has no name. */
  titleOf(element: Element): string {
    return this.#during((_, coordinates) => coordinates.titleOf(element));
  }

  placeOf(element: Element): Place {
    return this.#during((_, coordinates) => coordinates.place(element));
  }

  #during<T>(act: (look: Look, coordinates: Coordinates) => T): T {
    if (this.#pass) return act(this.#pass.look, this.#pass.coordinates);
    return this.during(new Look(this.#page, this.#excludes), () => this.#during(act));
  }

  #identity(element: Element): Identity {
    return this.#during((look, coordinates) => {
      const place = coordinates.place(element);
      const marks = marksOf(element) + (place.item ? ` in ${marksOf(place.item.element)}` : "");
      return {
        ...place,
        role: look.role(element),
        name: look.name(element),
        marks,
        isPrivate: isPrivate(element, look),
        consequence: look.isControl(element) ? look.consequence(element) : null,
        isOn: isOn(element),
      };
    });
  }

  /** What is there now and looks most like what was meant. */
  #like(meant: { name: string; role: string; coordinate: Coordinate }, look: Look): Known[] {
    const scored = look
      .controls()
      .filter((each) => isVisible(each) || look.isOnHover(each))
      .map((each) => ({ each, score: this.#likeness(meant, each, look) }))
      .filter(({ score }) => score >= LEAST_LIKE);
    scored.sort((one, other) => other.score - one.score);
    return scored.slice(0, MOST_CANDIDATES).map(({ each }) => this.know(each));
  }

  #likeness(
    meant: { name: string; role: string; coordinate: Coordinate },
    element: Element,
    look: Look,
  ): number {
    const name = similarity(meant.name, look.name(element));
    const role = meant.role !== "" && meant.role === look.role(element) ? 1 : 0;
    const inside = meant.coordinate.slice(0, -1).join(" ");
    const around = inside ? similarity(inside, this.placeOf(element).coordinate.slice(0, -1).join(" ")) : 0;
    return 0.5 * name + 0.15 * role + 0.35 * around;
  }
}

function known(ref: string, element: Element, identity: Identity): Known {
  const { role, name, coordinate, isPrivate, consequence } = identity;
  return { ref, element, role, name, coordinate, isPrivate, consequence };
}

function endsIn(whole: Coordinate, last: Coordinate): boolean {
  const before = whole.length - last.length;
  return before >= 0 && last.every((step, at) => step === whole[before + at]);
}

/** In which way it is not what was shown; empty where it is. */
function differs(was: Identity, now: Identity, isEntered: boolean): string {
  if (was.role !== now.role) return `is now a ${now.role || "plain element"}`;
  if (was.name !== now.name) return `is now called "${now.name}"`;
  const [before, after] = [was.coordinate.join(" > "), now.coordinate.join(" > ")];
  if (before !== after) return `stood at ${before} and stands now at ${after}`;
  if (was.marks !== now.marks) return "now belongs to something else on the page";
  // Whoever asked the visitor about what is private did not ask about this one.
  if (now.isPrivate && !was.isPrivate)
    return "is private now, and was not when it was shown: look at the page again";
  if (now.consequence && !was.consequence)
    return "has consequences now, and had none when it was shown: look at the page again";
  // Another item may have the same name. Only one that has no namesake, and that the model itself just changed, may say
  // something else than it did: how many of it there are, say.
  const mayChange = isEntered && was.isAlone && now.isAlone;
  const isSame = mayChange ? likeness(was.around, now.around) >= SAME_ITEM : was.around === now.around;
  return isSame ? "" : "now stands among other text than before: look at the page again";
}

/** How many words two texts share, of all that they have. */
function likeness(one: string, other: string): number {
  if (one === other) return 1;
  const [a, b] = [new Set(one.split(" ")), new Set(other.split(" "))];
  let shared = 0;
  for (const word of a) if (b.has(word)) shared++;
  return (2 * shared) / (a.size + b.size);
}

/** The attributes by which pages themselves tell things apart. */
function marksOf(element: Element): string {
  const marks: string[] = [];
  for (const { name, value } of attributesOf(element)) {
    if (
      /^(id|name|href|for|formaction)$/.test(name) ||
      /^data-(.+-)?(id|key|sku|uuid|uid|slug|pk)$/.test(name)
    )
      marks.push(`${name}=${value}`);
  }
  return marks.sort().join(" ");
}
