/**
 * What of the page lies before all else: its modal dialogs, and what fills the screen. While there is one, nothing
 * outside of the last can be used, not even what is painted above it.
 */

export const BEFORE_ALL = ":is(:modal, :fullscreen)";
/** By these events somebody comes by a shadow root, before a dialog is opened in it or while that happens. */
const TRACES = ["focusin", "pointerdown", "keydown"];
/** Nothing that is put into these is shown. */
const FULL = /^(video|audio|img|canvas|iframe|object|embed|svg|math|input|select|textarea)$/;

export class Modals {
  readonly #page: Document;
  readonly #told: () => void;
  readonly #observer = new MutationObserver((records) => this.#opened(records.map(({ target }) => target)));
  readonly #roots = new Set<Document | ShadowRoot>();
  /** In the order in which they came before the others. */
  #open: readonly Element[] = [];

  /** `told` is called when there may be another one on top. */
  constructor(page: Document, told: () => void) {
    this.#page = page;
    this.#told = told;
  }

  /** The one that can be used, if not all of the page can. */
  get top(): Element | null {
    return this.#open.at(-1) ?? null;
  }

  start(): void {
    this.#watch(this.#page);
    for (const type of TRACES) this.#page.addEventListener(type, this.#traced, true);
    this.#page.addEventListener("fullscreenchange", this.#filled, true);
    this.look();
  }

  stop(): void {
    this.#observer.disconnect();
    this.#roots.clear();
    this.#open = [];
    for (const type of TRACES) this.#page.removeEventListener(type, this.#traced, true);
    this.#page.removeEventListener("fullscreenchange", this.#filled, true);
  }

  /** See what is open now. Those that were opened anew lie before the others, in this order. */
  look(anew: readonly Node[] = []): void {
    const found = new Set<Element>();
    for (const root of this.#roots) {
      if (!root.isConnected) this.#roots.delete(root);
      else for (const element of root.querySelectorAll(BEFORE_ALL)) found.add(element);
    }
    const last = new Set(anew as readonly Element[]);
    const known = this.#open.filter((element) => found.has(element) && !last.has(element));
    const others = [...found].filter((element) => !known.includes(element) && !last.has(element));
    this.#open = [...known, ...others, ...[...last].filter((element) => found.has(element))];
  }

  #opened(anew: readonly Node[]): void {
    this.look(anew);
    this.#told();
  }

  #filled = (event: Event): void => {
    this.#traced(event);
    const target = event.composedPath()[0];
    const isNew = target instanceof Element && !this.#open.includes(target);
    this.#opened(isNew ? [target] : []);
  };

  /** Events tell of the page's shadow roots, in which nobody else could look for dialogs. */
  #traced = (event: Event): void => {
    for (const node of event.composedPath()) {
      if (!(node instanceof ShadowRoot) || this.#roots.has(node)) continue;
      this.#watch(node);
      // Perhaps this is the focus that a dialog takes when it is opened, within somebody's script.
      queueMicrotask(() => this.#opened([]));
    }
  };

  #watch(root: Document | ShadowRoot): void {
    this.#roots.add(root);
    this.#observer.observe(root, { subtree: true, attributes: true, attributeFilter: ["open"] });
  }
}

/** Where something can be put so that it can be used with this; null where nothing would be shown. */
export function roomIn(element: Element): Element | ShadowRoot | null {
  return FULL.test(element.localName) ? null : (element.shadowRoot ?? element);
}

/** Whether a node lies in an element, in whatever shadow. */
export function holds(element: Element, node: Node): boolean {
  for (let at: Node | null = node; at; at = at.parentNode ?? (at as Partial<ShadowRoot>).host ?? null)
    if (at === element) return true;
  return false;
}
