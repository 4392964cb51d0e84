/**
 * Properties of elements as the browser means them. A form shows its fields as properties of its own: one that has a
 * field called `children`, as every travel agency's has, answers `form.children` with that field.
 */

const getters = new Map<string, (this: unknown) => unknown>();

export function childrenOf(element: Element): HTMLCollection {
  return asked(element, "children", Element.prototype) as HTMLCollection;
}

export function childNodesOf(node: Node): NodeListOf<ChildNode> {
  return asked(node, "childNodes", Node.prototype) as NodeListOf<ChildNode>;
}

export function attributesOf(element: Element): NamedNodeMap {
  return asked(element, "attributes", Element.prototype) as NamedNodeMap;
}

/** The labels of a field; none for anything else. */
export function labelsOf(element: Element): readonly Element[] {
  const { localName } = element;
  if (typeof localName !== "string" || localName === "form") return [];
  const labels = (element as HTMLInputElement).labels as Iterable<Element> | null | undefined;
  return labels && typeof labels === "object" ? [...labels] : [];
}

function asked(node: Node, property: string, prototype: object): unknown {
  let getter = getters.get(property);
  if (!getter) {
    getter = Object.getOwnPropertyDescriptor(prototype, property)?.get;
    if (!getter) return (node as unknown as Record<string, unknown>)[property];
    getters.set(property, getter);
  }
  return getter.call(node);
}
