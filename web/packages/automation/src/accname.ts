/**
 * The accessible name of an element, by the rules that browsers go by (https://w3c.github.io/accname/): labels first, then
 * what the element itself brings, then what it holds.
 */

import {
  allIn,
  attributeOf,
  byId,
  childNodesOf,
  childrenOf,
  isElement,
  isText,
  rootOf,
  tagOf,
  textContentOf,
} from "./dom";
import { fold } from "./text";

/** What must be known of the elements on the way. */
export interface Sight {
  role(element: Element): string;
  labels(element: Element): readonly Element[];
  /** How an element is rendered: `none` where nothing of it is part of a name. */
  display(element: Element): string;
  /** What a style sheet puts before an element, or after it. */
  generated(element: Element, part: "::before" | "::after"): string;
  /** What stands in a field. */
  value(element: Element): string;
}

/** How an element came to be asked for its text. */
interface Way {
  /** By `aria-labelledby`: then it counts although it is hidden. */
  readonly isReferenced?: boolean;
  /** As a part of a label: then what stands in a field counts. */
  readonly isInLabel?: boolean;
  /** As a part of something: then all that it holds counts. */
  readonly isPart?: boolean;
}

const BY_CONTENT = new Set(
  (
    "button cell checkbox columnheader gridcell heading link menuitem menuitemcheckbox menuitemradio option radio row " +
    "rowheader switch tab tooltip treeitem"
  ).split(" "),
);
const RANGES = new Set(["meter", "progressbar", "scrollbar", "slider", "spinbutton"]);
const FIELDS = new Set(["button", "combobox", "listbox", "textbox", ...RANGES]);
/** What the browser writes onto buttons that nobody has written anything onto. */
const UNWRITTEN: { readonly [type: string]: string } = { submit: "Submit", reset: "Reset" };

export function accessibleName(element: Element, sight: Sight): string {
  return fold(new Naming(sight).of(element, {}));
}

class Naming {
  readonly #sight: Sight;
  /** Nothing is told twice, and what refers to itself comes to an end. */
  readonly #told = new Set<Node>();
  readonly #labelled = new Set<Element>();

  constructor(sight: Sight) {
    this.#sight = sight;
  }

  of(node: Node, way: Way): string {
    if (this.#told.has(node)) return "";
    if (!isElement(node)) {
      this.#told.add(node);
      return isText(node) ? node.data : "";
    }
    if (!way.isReferenced && this.#sight.display(node) === "none") {
      this.#told.add(node);
      return "";
    }
    const others = way.isReferenced || this.#labelled.has(node) ? [] : referred(node, "aria-labelledby");
    if (others.length > 0) {
      this.#labelled.add(node);
      return others.map((each) => this.of(each, { ...way, isReferenced: true, isPart: false })).join(" ");
    }
    const role = this.#sight.role(node);
    const text = this.#ownText(node, role, way) ?? this.#heldText(node, role, way);
    this.#told.add(node);
    return text;
  }

  /** What it is called by its attributes, its labels, its legend; null where that is nothing. */
  #ownText(element: Element, role: string, way: Way): string | null {
    if (way.isPart && FIELDS.has(role)) return null;
    const label = attributeOf(element, "aria-label")?.trim();
    if (label) return label;
    return this.#isPlain(element) ? null : this.#nativeText(element, role);
  }

  /** Whether the page says that the element is nothing but what it holds. */
  #isPlain(element: Element): boolean {
    const given = attributeOf(element, "role")?.trim();
    return (given === "none" || given === "presentation") && this.#sight.role(element) === "";
  }

  #nativeText(element: Element, role: string): string | null {
    const tag = tagOf(element);
    // Their parts may lead back to them.
    if (tag === "fieldset" || tag === "table" || tag === "svg") this.#told.add(element);
    const brought = this.#brought(element, tag);
    if (brought !== null) return brought;
    const type = tag === "input" ? (element as HTMLInputElement).type : "";
    if (/^(button|submit|reset)$/.test(type)) {
      const written = attributeOf(element, "value") || UNWRITTEN[type];
      if (written?.trim()) return written;
    }
    const labels = this.#sight.labels(element);
    if (labels.length > 0) {
      this.#told.add(element);
      const texts = labels.map((each) => this.of(each, { isInLabel: true, isPart: true }));
      return texts.filter((text) => text !== "").join(" ");
    }
    if (type === "image")
      return attributeOf(element, "alt")?.trim() || attributeOf(element, "title")?.trim() || "Submit Query";
    return role === "button" ? this.#contents(element, {}) || null : null;
  }

  /** What an element of this kind has for its name. */
  #brought(element: Element, tag: string): string | null {
    switch (tag) {
      case "fieldset":
        return this.#childText(element, "legend");
      case "table":
        return this.#childText(element, "caption");
      case "svg": {
        const title = [...childrenOf(element)].find((each) => tagOf(each) === "title");
        return title ? textContentOf(title) : null;
      }
      case "img":
      case "area":
        return given(element, "alt");
      case "optgroup":
        return given(element, "label");
      default:
        return null;
    }
  }

  #childText(element: Element, tag: string): string | null {
    const child = [...childrenOf(element)].find((each) => tagOf(each) === tag);
    return child ? this.of(child, {}) : null;
  }

  /** What it holds, where an element of its kind is called so; else what only tooltips say. */
  #heldText(element: Element, role: string, way: Way): string {
    if (role === "menu") return "";
    if ((way.isPart && FIELDS.has(role)) || way.isInLabel || way.isReferenced) {
      const value = this.#valueText(element, role, way);
      if (value !== null) return value;
    }
    const isNamer = /^(caption|legend)$/.test(tagOf(element));
    if (BY_CONTENT.has(role) || way.isReferenced || isNamer) {
      const held = this.#contents(element, way);
      if (held) return held;
    }
    if (way.isPart) return this.#contents(element, way);
    return attributeOf(element, "title")?.trim() ?? "";
  }

  /** What stands in a field that is a part of somebody's name; null where it is no field. */
  #valueText(element: Element, role: string, way: Way): string | null {
    if (role === "combobox" || role === "listbox") {
      this.#told.add(element);
      const chosen = chosenIn(element);
      if (chosen.length === 0) return tagOf(element) === "input" ? this.#sight.value(element) : "";
      return chosen.map((each) => this.of(each, { ...way, isReferenced: false, isPart: true })).join(" ");
    }
    if (RANGES.has(role))
      return (
        attributeOf(element, "aria-valuetext") ??
        attributeOf(element, "aria-valuenow") ??
        attributeOf(element, "value") ??
        ""
      );
    if (role !== "textbox") return null;
    return /^(input|textarea)$/.test(tagOf(element)) ? this.#sight.value(element) : textContentOf(element);
  }

  #contents(element: Element, { isInLabel = false }: Way): string {
    let text = `${this.#sight.generated(element, "::before")} `;
    for (const node of inside(element)) {
      const said = this.of(node, { isInLabel, isPart: true });
      // Nobody reads across what is not inline as if it were not there.
      const isInline = !isElement(node) || this.#sight.display(node) === "inline";
      text += isInline ? said : ` ${said} `;
    }
    return `${text} ${this.#sight.generated(element, "::after")}`.trim();
  }
}

function inside(element: Element): readonly Node[] {
  if (tagOf(element) === "slot") {
    const assigned = (element as HTMLSlotElement).assignedNodes();
    if (assigned.length > 0) return assigned;
  }
  const owned = referred(element, "aria-owns");
  return owned.length > 0 ? [...childNodesOf(element), ...owned] : childNodesOf(element);
}

function chosenIn(listbox: Element): Element[] {
  if (tagOf(listbox) === "select") return [...(listbox as HTMLSelectElement).selectedOptions];
  const chosen = "[aria-selected=true]";
  return [listbox, ...referred(listbox, "aria-owns")].flatMap((each) => allIn(each, chosen));
}

/** The elements whose ids an attribute names. */
function referred(element: Element, attribute: string): Element[] {
  const ids = attributeOf(element, attribute);
  if (!ids) return [];
  const root = rootOf(element);
  return ids.split(/\s+/).flatMap((id) => (id && byId(root, id)) || []);
}

function given(element: Element, attribute: string): string | null {
  const text = attributeOf(element, attribute);
  return text?.trim() ? text : null;
}
