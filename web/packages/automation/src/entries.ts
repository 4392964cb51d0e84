/** Everything that the page shows, as entries in the order of the page: containers, headings, controls, texts. */

import {
  allIn,
  attributeOf,
  childCountOf,
  childrenOf,
  firstElementOf,
  firstIn,
  hasBox,
  isElement,
  isText,
  namespaceOf,
  parentElementOf,
  rectOf,
  shadowOf,
  styleOf,
  tagOf,
  textContentOf,
} from "./dom";
import { contentOf, isFrame } from "./frames";
import { controlOf } from "./labels";
import { controlLine, LONGEST_LINE } from "./lines";
import { isClosed, type Look, MOST_ELEMENTS } from "./look";
import { MASK, toldText } from "./private";
import type { Refs } from "./refs";
import { cut, fold, quoted } from "./text";

export type EntryKind = "container" | "control" | "heading" | "text";

export interface Entry {
  readonly kind: EntryKind;
  readonly element: Element;
  readonly depth: number;
  readonly text: string;
  /** The container's entry that this one lies in. */
  readonly holder: Entry | null;
  readonly item: Item | null;
}

/** Which of many that are alike something belongs to. */
export interface Item {
  readonly list: Element;
  /** Counted from nought. */
  readonly number: number;
  /** The item that its list lies in. */
  readonly outer: Item | null;
}

const LANDMARKS = new Set(
  "main navigation banner contentinfo complementary search region form dialog alertdialog alert status log tabpanel toolbar tablist menu menubar listbox list table grid treegrid tree radiogroup group feed figure".split(
    " ",
  ),
);
/** Worth a line only where they are called something. */
const NAMELESS = new Set(["list", "table", "grid", "group", "figure", "form", "feed"]);
/** A whole part of the page that can be pressed is told like any other part. */
const LONG_NAME = 80;
const PARTS = "h1, h2, h3, h4, p, ul, table, button, a[href]";
const CELLS = new Set(["cell", "gridcell", "columnheader", "rowheader"]);
const LISTS = new Set(["list", "table", "grid", "treegrid", "listbox", "feed", "tree"]);

/** A walk over what is shown. `unreachable` collects what cannot be looked into. */
export class Walk {
  readonly entries: Entry[] = [];
  readonly unreachable: string[] = [];
  readonly #look: Look;
  readonly #refs: Refs;
  readonly #longest: number;
  #visits = 0;
  #holder: Entry | null = null;
  #item: Item | null = null;
  #line: { parts: string[]; element: Element } | null = null;

  /** `longest` is what one line may have. */
  constructor(look: Look, refs: Refs, longest = LONGEST_LINE) {
    this.#longest = longest;
    this.#look = look;
    this.#refs = refs;
  }

  from(root: Element): this {
    this.#visit(root);
    this.#flush();
    return this;
  }

  #visit(element: Element): void {
    if (this.#look.isOut(element)) return;
    if (this.#visits++ === MOST_ELEMENTS)
      this.unreachable.push(
        `all beyond the first ${MOST_ELEMENTS} elements, except by reading a container of theirs`,
      );
    if (this.#visits > MOST_ELEMENTS) return;
    // Of what comes up under the pointer, only what can be done there.
    if (this.#look.isOnHover(element)) this.#quietly(() => this.#tell(element, true));
    else this.#tell(element, this.#look.isSeen(element));
  }

  #tell(element: Element, isShown: boolean): void {
    const role = this.#look.role(element);
    if (tagOf(element) === "br") this.#end();
    else if (isShown && this.#look.isControl(element)) this.#control(element);
    else if (role === "heading") this.#heading(element);
    else if (this.#isUnreachable(element)) return;
    else if (role === "img" || role === "progressbar" || role === "meter") this.#picture(element, role);
    else if (!isClosed(element)) this.#box(element, role);
  }

  #box(element: Element, role: string): void {
    const isCell = !this.#quiet && CELLS.has(role);
    const isBlock = !this.#quiet && !isCell && this.#isBlock(element);
    if (isBlock) this.#flush();
    if (namesAnother(element) || tagOf(element) === "svg") this.#silently(element);
    else this.#within(element, role, () => this.#contents(element));
    if (isBlock) this.#flush();
    else if (isCell) this.#line?.parts.push("|");
  }

  #contents(element: Element): void {
    for (const node of contentOf(element)) {
      if (isElement(node)) this.#visit(node);
      else if (isText(node) && this.#look.isSeen(element)) this.#text(node.data, element);
    }
  }

  #control(element: Element): void {
    this.#flush();
    const known = this.#refs.know(element);
    const within = this.#refs.placeOf(element).item?.key ?? "";
    const line = controlLine(known, within === known.name ? "" : within, this.#look);
    this.#add("control", element, this.#look.isOnHover(element) ? `${line} (shown on hover)` : line);
    // A card that can be pressed may hold buttons of its own.
    if (isClosed(element) || /^(button|input|summary)$/.test(tagOf(element))) return;
    const isPlain = known.role !== "" || (known.name.length < LONG_NAME && !firstIn(element, PARTS));
    if (isPlain) this.#silently(element);
    else this.#contents(element);
  }

  /** Only the controls inside: the rest is told already, in the name of something. */
  #silently(element: Element): void {
    this.#quietly(() => this.#contents(element));
  }

  #quietly(act: () => void): void {
    const outer = this.#quiet;
    this.#quiet = true;
    act();
    this.#quiet = outer;
  }

  #quiet = false;

  #heading(element: Element): void {
    this.#end();
    const level = attributeOf(element, "aria-level") ?? /^h([1-6])$/.exec(tagOf(element))?.[1] ?? "2";
    const name = this.#look.isMarked(element)
      ? MASK
      : quoted(this.#look.withoutSecrets(fold(toldText(element, this.#look))), 120);
    if (!this.#quiet && name !== '""') this.#add("heading", element, `heading ${level} ${name}`);
    this.#silently(element);
  }

  /** Of a drawing also the links that it holds: the rest of it is a picture. */
  #picture(element: Element, role: string): void {
    this.#shownPicture(element, role);
    if (!isClosed(element) && tagOf(element) === "svg") this.#silently(element);
  }

  #shownPicture(element: Element, role: string): void {
    const name = this.#look.name(element);
    const value =
      attributeOf(element, "aria-valuenow") ?? (role === "img" ? null : attributeOf(element, "value"));
    if (this.#quiet || (!name && value === null)) return;
    this.#flush();
    const shown = this.#look.isMarked(element)
      ? MASK
      : `${quoted(name, 80)}${value === null ? "" : ` = ${value}`}`;
    this.#add("text", element, `${role} ${shown}`);
  }

  #text(data: string, element: Element): void {
    if (this.#quiet) return;
    const text = fold(data);
    if (!text) {
      this.#line?.parts.push(" ");
      return;
    }
    const space = /^\s/.test(data) ? " " : "";
    const after = /\s$/.test(data) ? " " : "";
    const shown = this.#look.isMarked(element) ? MASK : text;
    this.#line ??= { parts: [], element };
    this.#line.parts.push(`${space}${shown}${after}`);
  }

  /** What is told in the name of something else, or not at all, ends no line. */
  #end(): void {
    if (!this.#quiet) this.#flush();
  }

  #flush(): void {
    const line = this.#line;
    this.#line = null;
    if (!line) return;
    const text = this.#look
      .withoutSecrets(fold(line.parts.join("")))
      .replace(/(\s*\|\s*)+$/, "")
      .replace(/\s*\|\s*/g, " | ");
    if (text && text !== "|")
      this.#add(
        "text",
        line.element,
        text === MASK ? `text ${MASK}` : `text ${quoted(text, this.#longest - 20)}`,
      );
  }

  #within(element: Element, role: string, act: () => void): void {
    const before = { holder: this.#holder, item: this.#item };
    const title = LANDMARKS.has(role) && !this.#quiet ? this.#title(element, role) : "";
    if (title) {
      this.#flush();
      this.#holder = this.#add("container", element, title);
    }
    if (this.#look.kind(element) === "item") this.#item = this.#itemOf(element);
    act();
    if (title) this.#flush();
    this.#holder = before.holder;
    this.#item = before.item;
  }

  #title(element: Element, role: string): string {
    const name = this.#refs.titleOf(element);
    if (!name && NAMELESS.has(role)) return "";
    return [role, name ? quoted(name, 80) : "", this.#size(element, role)].filter(Boolean).join(" ");
  }

  #size(element: Element, role: string): string {
    if (!LISTS.has(role)) return "";
    const count =
      role === "table" || role.endsWith("grid")
        ? allIn(element, "tr, [role=row]").length
        : childCountOf(element);
    return count > 3
      ? `(${count} ${role === "list" || role === "feed" ? "items" : role === "table" ? "rows" : "entries"})`
      : "";
  }

  #itemOf(element: Element): Item | null {
    const list = parentElementOf(element);
    if (!list) return this.#item;
    const number = this.#numbers.get(list) ?? 0;
    this.#numbers.set(list, number + 1);
    return { list, number, outer: this.#item };
  }

  readonly #numbers = new Map<Element, number>();

  #isBlock(element: Element): boolean {
    const display = styleOf(element)?.display ?? "block";
    return !/^(inline|contents|table-cell|ruby)/.test(display);
  }

  #isUnreachable(element: Element): boolean {
    const why = whyUnreachable(element);
    if (!why) return false;
    const name = this.#look.name(element);
    const said = `${why}${name ? ` ${quoted(name, 60)}` : ""}`;
    this.unreachable.push(said);
    this.#end();
    if (!this.#quiet) this.#add("text", element, `${said}: cannot be looked into`);
    return true;
  }

  #add(kind: EntryKind, element: Element, text: string): Entry {
    const holder = this.#holder;
    const depth = holder ? holder.depth + 1 : 0;
    const line = cut(`${"  ".repeat(Math.min(depth, 12))}${text}`, this.#longest);
    const entry = { kind, element, depth, text: line, holder, item: this.#item };
    this.entries.push(entry);
    return entry;
  }
}

/** Whatever it is the label of is called so. */
function namesAnother(element: Element): boolean {
  if (tagOf(element) === "legend" || tagOf(element) === "caption") return true;
  return tagOf(element) === "label" && controlOf(element) !== null;
}

function whyUnreachable(element: Element): string {
  if (isFrame(element)) return contentOf(element).length > 0 ? "" : "frame of another origin";
  if (tagOf(element) === "canvas") return "canvas";
  if (tagOf(element) === "object" || tagOf(element) === "embed") return "embedded document";
  return isClosedRoot(element) ? "closed shadow root" : "";
}

/** A custom element that takes up room, though nothing that one can see from here is in it. */
function isClosedRoot(element: Element): boolean {
  if (
    !tagOf(element).includes("-") ||
    shadowOf(element) ||
    namespaceOf(element) !== "http://www.w3.org/1999/xhtml"
  )
    return false;
  const box = rectOf(element);
  if (box.width === 0 || box.height === 0) return false;
  for (const child of childrenOf(element)) if (hasBox(child)) return false;
  return fold(textContentOf(element)) === "" || firstElementOf(element) !== null;
}
