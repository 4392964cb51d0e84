/**
 * Properties of elements and documents as the browser means them. A form shows its fields as properties of its own: one
 * that has a field called `children`, as every travel agency's has, answers `form.children` with that field; a document
 * does the same with the names of its forms and pictures. And what stands on the prototypes a page may replace: what is
 * asked for here was taken when this script came. Nobody else in this package asks an element itself.
 */

import type { View } from "./natives";

/** A document or a shadow root. */
export type Root = Document | ShadowRoot;

type Owner = { prototype: object } | undefined;

// Not Object's: old shims put one of their own there, which knows nothing of getters.
const { getOwnPropertyDescriptor } = Reflect;

// Where there are no elements at all, nobody asks them.
const here = globalThis as Partial<typeof globalThis>;
const { Node: AnyNode, Element: AnyElement, HTMLElement: AnyHtml, SVGElement: AnySvg } = here;
const { Document: AnyDocument, DocumentFragment: AnyFragment, ShadowRoot: AnyShadow } = here;

const ELEMENT = 1;
const TEXT = 3;
const DOCUMENT = 9;
const SVG = "http://www.w3.org/2000/svg";

// What every node has.

export const nodeTypeOf = asked<Node, number>(AnyNode, "nodeType");
export const ownerOf = asked<Node, Document>(AnyNode, "ownerDocument");
export const parentElementOf = asked<Node, Element | null>(AnyNode, "parentElement");
export const isConnected = asked<Node, boolean>(AnyNode, "isConnected");
export const previousSiblingOf = asked<Node, ChildNode | null>(AnyNode, "previousSibling");
export const nextSiblingOf = asked<Node, ChildNode | null>(AnyNode, "nextSibling");
export const firstChildOf = asked<Node, ChildNode | null>(AnyNode, "firstChild");
const contentOf = asked<Node, string | null>(AnyNode, "textContent");
const getRootNode = called<Node, "getRootNode">(AnyNode, "getRootNode");
const compare = called<Node, "compareDocumentPosition">(AnyNode, "compareDocumentPosition");
const holds = called<Node, "contains">(AnyNode, "contains");
const clone = called<Node, "cloneNode">(AnyNode, "cloneNode");

export function isElement(node: Node): node is Element {
  return nodeTypeOf(node) === ELEMENT;
}

export function isText(node: Node): node is Text {
  return nodeTypeOf(node) === TEXT;
}

export function isDocument(node: Node): node is Document {
  return nodeTypeOf(node) === DOCUMENT;
}

export function textContentOf(node: Node): string {
  return contentOf(node) ?? "";
}

/** The document or root that a node lies in; itself, or what it hangs on, where it lies in none. */
export function rootOf(node: Node): Root {
  return getRootNode(node) as Root;
}

export function isBefore(node: Node, other: Node): boolean {
  return (compare(node, other) & 4) !== 0;
}

export function isInside(outer: Node, inner: Node): boolean {
  return holds(outer, inner);
}

/** The element alone, without what is in it. */
export function bareCopy<T extends Element>(element: T): T {
  return clone(element) as T;
}

/** From one to the next: several times as fast as by the list that the browser keeps of them. */
export function childNodesOf(parent: Node): ChildNode[] {
  const found: ChildNode[] = [];
  for (let node = firstChildOf(parent); node; node = nextSiblingOf(node)) found.push(node);
  return found;
}

// What every element has.

export const tagOf = asked<Element, string>(AnyElement, "localName");
export const childrenOf = asked<Element, HTMLCollection>(AnyElement, "children");
export const attributesOf = asked<Element, NamedNodeMap>(AnyElement, "attributes");
export const shadowOf = asked<Element, ShadowRoot | null>(AnyElement, "shadowRoot");
export const slotOf = asked<Element, HTMLSlotElement | null>(AnyElement, "assignedSlot");
export const firstElementOf = asked<Element, Element | null>(AnyElement, "firstElementChild");
export const childCountOf = asked<Element, number>(AnyElement, "childElementCount");
export const elementBefore = asked<Element, Element | null>(AnyElement, "previousElementSibling");
export const namespaceOf = asked<Element, string | null>(AnyElement, "namespaceURI");
export const attributeOf = told<string | null>("getAttribute");
export const hasAttribute = told<boolean>("hasAttribute");
/** Whether a selector holds for an element. */
export const isMatch = told<boolean>("matches");
export const rectOf = called<Element, "getBoundingClientRect">(AnyElement, "getBoundingClientRect");
export const rectsOf = called<Element, "getClientRects">(AnyElement, "getClientRects");
export const scrollIntoView = called<Element, "scrollIntoView">(AnyElement, "scrollIntoView");
const closest = called<Element, "closest">(AnyElement, "closest");
const checkVisibility = called<Element, "checkVisibility">(AnyElement, "checkVisibility");

/** The nearest around an element for which a selector holds, itself among them. */
export function nearest(element: Element, selector: string): Element | null {
  return closest(element, selector);
}

/** Whether an element has a box. */
export function hasBox(element: Element): boolean {
  return checkVisibility(element);
}

/** Whether an element has a box, and that is not invisible. */
export function isShown(element: Element): boolean {
  return checkVisibility(element, { visibilityProperty: true });
}

/** How far an element has scrolled, and how far it could. */
export const scrollOf = (element: Element) => ({
  left: scroll.left(element),
  top: scroll.top(element),
  width: scroll.width(element),
  height: scroll.height(element),
  shownWidth: scroll.shownWidth(element),
  shownHeight: scroll.shownHeight(element),
});
export const scrollTo = called<Element, "scrollTo">(AnyElement, "scrollTo") as unknown as Scroll;
export const scrollBy = called<Element, "scrollBy">(AnyElement, "scrollBy") as unknown as Scroll;
export const clientLeftOf = asked<Element, number>(AnyElement, "clientLeft");
export const clientTopOf = asked<Element, number>(AnyElement, "clientTop");

type Scroll = (element: Element, options: ScrollToOptions) => void;

const scroll = {
  left: asked<Element, number>(AnyElement, "scrollLeft"),
  top: asked<Element, number>(AnyElement, "scrollTop"),
  width: asked<Element, number>(AnyElement, "scrollWidth"),
  height: asked<Element, number>(AnyElement, "scrollHeight"),
  shownWidth: asked<Element, number>(AnyElement, "clientWidth"),
  shownHeight: asked<Element, number>(AnyElement, "clientHeight"),
};

// What elements of HTML have, and those of SVG in their own way.

const isContentEditable = asked<Element, boolean>(AnyHtml, "isContentEditable");
const innerText = asked<Element, string>(AnyHtml, "innerText");
const tabIndexes = of(AnyHtml, AnySvg, (owner) => asked<Element, number>(owner, "tabIndex"));
const focuses = of(AnyHtml, AnySvg, (owner) => called<HTMLElement, "focus">(owner, "focus"));
const blurs = of(AnyHtml, AnySvg, (owner) => called<HTMLElement, "blur">(owner, "blur"));

export function isInEditable(element: Element): boolean {
  return isHtml(element) && isContentEditable(element);
}

/** What an element says as it is seen: rendered, with its line breaks. */
export function shownText(element: Element): string {
  return isHtml(element) ? innerText(element) : textContentOf(element);
}

export function tabIndexOf(element: Element): number {
  return kindOf(element, tabIndexes)?.(element) ?? -1;
}

export function focus(element: Element): void {
  kindOf(element, focuses)?.(element as HTMLElement, { preventScroll: true });
}

export function blur(element: Element): void {
  kindOf(element, blurs)?.(element as HTMLElement);
}

export function isHtml(element: Element): boolean {
  return namespaceOf(element) === "http://www.w3.org/1999/xhtml";
}

function kindOf<T>(element: Element, kinds: { html: T; svg: T }): T | null {
  if (isHtml(element)) return kinds.html;
  return namespaceOf(element) === SVG ? kinds.svg : null;
}

function of<T>(html: Owner, svg: Owner, make: (owner: Owner) => T): { html: T; svg: T } {
  return { html: make(html), svg: make(svg) };
}

// What stands in a field.

const { HTMLInputElement: AnyInput, HTMLTextAreaElement: AnyArea } = here;
const inputValueOf = asked<Element, string>(AnyInput, "value");
const areaValueOf = asked<Element, string>(AnyArea, "value");

export function fieldValue(field: Element): string {
  const tag = tagOf(field);
  return tag === "input" ? inputValueOf(field) : tag === "textarea" ? areaValueOf(field) : "";
}

// What can be asked of documents, of roots and of elements.

const queries = of3((owner) => called<ParentNode, "querySelector">(owner, "querySelector"));
const allQueries = of3((owner) => called<ParentNode, "querySelectorAll">(owner, "querySelectorAll"));

export function firstIn(parent: ParentNode, selector: string): Element | null {
  return which(parent, queries)(parent, selector) as Element | null;
}

export function allIn(parent: ParentNode, selector: string): Element[] {
  return [...(which(parent, allQueries)(parent, selector) as NodeListOf<Element>)];
}

export function byId(root: Root, id: string): Element | null {
  // What hangs on nothing has nothing above it to ask.
  return isElement(root) ? null : which(root, ids)(root as Document, id);
}

/** The element of a document or root that has the focus. */
export function activeIn(root: Root): Element | null {
  return which(root, actives)(root);
}

/** What lies at a point, topmost first. */
export function elementsAt(root: Root, x: number, y: number): Element[] {
  return which(root, points)(root, x, y);
}

export function sheetsOf(root: Root): CSSStyleSheet[] {
  if (isElement(root)) return [];
  return [...(which(root, sheets)(root) ?? []), ...(which(root, adopted)(root) ?? [])];
}

const ids = of3((owner) => called<Document, "getElementById">(owner, "getElementById"));
const actives = of3((owner) => asked<Root, Element | null>(owner, "activeElement"), AnyShadow);
const points = of3((owner) => called<Root, "elementsFromPoint">(owner, "elementsFromPoint"), AnyShadow);
const sheets = of3((owner) => asked<Root, StyleSheetList | null>(owner, "styleSheets"), AnyShadow);
const adopted = of3((owner) => asked<Root, CSSStyleSheet[] | null>(owner, "adoptedStyleSheets"), AnyShadow);

function of3<T>(make: (owner: Owner) => T, fragment: Owner = AnyFragment): { [kind: number]: T; element: T } {
  return { [DOCUMENT]: make(AnyDocument), 11: make(fragment), element: make(AnyElement) };
}

function which<T>(node: Node, kinds: { [kind: number]: T; element: T }): T {
  return kinds[nodeTypeOf(node)] ?? kinds.element;
}

// What a document has.

export const windowOf = asked<Document, View | null>(AnyDocument, "defaultView");
export const bodyOf = asked<Document, HTMLElement>(AnyDocument, "body");
export const topElementOf = asked<Document, Element>(AnyDocument, "documentElement");
export const scrollingElementOf = asked<Document, Element | null>(AnyDocument, "scrollingElement");
export const pageTitleOf = asked<Document, string>(AnyDocument, "title");
export const designModeOf = asked<Document, string>(AnyDocument, "designMode");
export const execCommand = called<Document, "execCommand">(AnyDocument, "execCommand");
export const createTextNode = called<Document, "createTextNode">(AnyDocument, "createTextNode");
const createElement = called<Document, "createElement">(AnyDocument, "createElement");

export function created<Name extends keyof HTMLElementTagNameMap>(
  document: Document,
  name: Name,
): HTMLElementTagNameMap[Name] {
  return createElement(document, name) as HTMLElementTagNameMap[Name];
}

/** The window that an element is shown in. */
export function viewOf(element: Node): View | null {
  const owner = ownerOf(element);
  return owner && windowOf(owner);
}

export function styleOf(element: Element, pseudo?: string): CSSStyleDeclaration | null {
  return viewOf(element)?.getComputedStyle(element, pseudo) ?? null;
}

// Events.

const { EventTarget: AnyTarget } = here;
export const listen = called<EventTarget, "addEventListener">(AnyTarget, "addEventListener");
export const unlisten = called<EventTarget, "removeEventListener">(AnyTarget, "removeEventListener");

function asked<N, T>(owner: Owner, property: string): (node: N) => T {
  const getter = owner && getOwnPropertyDescriptor(owner.prototype, property)?.get;
  if (getter) return (node) => getter.call(node);
  return (node) => (node as Record<string, T>)[property] as T;
}

/** What an element says about one text. Asked more often than anything else, so by itself. */
function told<T>(name: "getAttribute" | "hasAttribute" | "matches"): (element: Element, text: string) => T {
  const method = AnyElement?.prototype[name] as ((text: string) => T) | undefined;
  if (method) return (element, text) => method.call(element, text);
  return (element, text) => (element[name] as (text: string) => T)(text);
}

type Method<N, Name extends keyof N> = N[Name] extends (...args: infer Args) => infer Answer
  ? (node: N, ...args: Args) => Answer
  : never;

function called<N, Name extends keyof N & string>(owner: Owner, name: Name): Method<N, Name> {
  const method = (owner?.prototype as N | undefined)?.[name] as ((...args: unknown[]) => unknown) | undefined;
  const call = (node: N, ...args: unknown[]): unknown =>
    (method ?? (node[name] as (...args: unknown[]) => unknown)).apply(node, args);
  return call as Method<N, Name>;
}
