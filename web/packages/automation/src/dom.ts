/**
 * Properties of elements as the browser means them. A form shows its fields as properties of its own: one that has a
 * field called `children`, as every travel agency's has, answers `form.children` with that field. And what stands on the
 * prototypes a page may replace: what is asked for here was taken when this script came.
 */

// Not Object's: old shims put one of their own there, which knows nothing of getters.
const { getOwnPropertyDescriptor } = Reflect;

// Where there are no elements at all, nobody asks them.
const { Element: AnyElement, Node: AnyNode } = globalThis as Partial<typeof globalThis>;

export const childrenOf: (element: Element) => HTMLCollection = asked(AnyElement, "children");
export const attributesOf: (element: Element) => NamedNodeMap = asked(AnyElement, "attributes");

const firstChildOf: (node: Node) => ChildNode | null = asked(AnyNode, "firstChild");
const nextSiblingOf: (node: Node) => ChildNode | null = asked(AnyNode, "nextSibling");

/** From one to the next: several times as fast as by the list that the browser keeps of them. */
export function childNodesOf(parent: Node): ChildNode[] {
  const found: ChildNode[] = [];
  for (let node = firstChildOf(parent); node; node = nextSiblingOf(node)) found.push(node);
  return found;
}

const matches = AnyElement?.prototype.matches;

/** Whether a selector holds for an element, also for a form with a field called `matches`. */
export function isMatch(element: Element, selector: string): boolean {
  return (matches ?? element.matches).call(element, selector);
}

/** The labels of a field; none for anything else. */
export function labelsOf(element: Element): readonly Element[] {
  const { localName } = element;
  if (typeof localName !== "string" || localName === "form") return [];
  const labels = (element as HTMLInputElement).labels as Iterable<Element> | null | undefined;
  return labels && typeof labels === "object" ? [...labels] : [];
}

function asked<T>(owner: { prototype: object } | undefined, property: string): (node: Node) => T {
  const getter = owner && getOwnPropertyDescriptor(owner.prototype, property)?.get;
  if (getter) return (node) => getter.call(node);
  return (node) => (node as unknown as Record<string, T>)[property] as T;
}
