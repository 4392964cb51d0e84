/** Which labels stand for which fields. */

import { allIn, type Root, rootOf, tagOf } from "./dom";

const LABELLED = /^(button|input|meter|output|progress|select|textarea)$/;

/** The labels of one field, asked of the browser; none for anything else. */
export function labelsOf(element: Element): readonly Element[] {
  if (!LABELLED.test(tagOf(element))) return [];
  return [...((element as HTMLInputElement).labels ?? [])];
}

/** What a label stands for. */
export function controlOf(label: Element): Element | null {
  return tagOf(label) === "label" ? (label as HTMLLabelElement).control : null;
}

/**
 * The labels of many fields while the page stands still. A browser goes through the whole document for the labels of each
 * one: this goes through it once.
 */
export class Labels {
  readonly #roots = new Map<Root, Map<Element, Element[]>>();

  readonly of = (element: Element): readonly Element[] => {
    if (!LABELLED.test(tagOf(element))) return [];
    const root = rootOf(element);
    let known = this.#roots.get(root);
    if (!known) {
      known = labelled(root);
      this.#roots.set(root, known);
    }
    return known.get(element) ?? [];
  };
}

function labelled(root: Root): Map<Element, Element[]> {
  const found = new Map<Element, Element[]>();
  for (const label of allIn(root, "label")) {
    const control = controlOf(label);
    if (!control) continue;
    const others = found.get(control);
    if (others) others.push(label);
    else found.set(control, [label]);
  }
  return found;
}
