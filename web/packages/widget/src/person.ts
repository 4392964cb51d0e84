/**
 * Where the person is: what has the focus because they put it there. What the agent does to the page moves the focus, at
 * once or a while later, and whoever goes on typing would press what it clicked. So the focus goes back after every
 * action, and until the person moves it themselves no key of theirs reaches anything else.
 */

/** How long after an action the page may still move the focus because of it. */
const AFTER_MS = 10_000;
/** What moves within this time of a press or a click, the person moved. */
const GESTURE_MS = 100;
/** As often as this for one action. A page that wants the focus more than that keeps it, but gets no keys. */
const MOST_RETURNS = 20;
const OURS = "pollux-chat, [data-pollux-chat]";
const KEYS = ["keydown", "keypress", "keyup"] as const;
const POINTERS = ["pointerdown", "mousedown", "touchstart", "click"] as const;

interface Place {
  readonly element: Element | null;
  readonly isOurs: boolean;
  readonly selection: Selected | null;
}

type Selected = readonly [start: number | null, end: number | null, direction: Direction];
type Direction = "forward" | "backward" | "none" | null;
type Field = HTMLInputElement | HTMLTextAreaElement;

export class Person {
  readonly #window: Window;
  readonly #home: () => void;
  #place: Place | null = null;
  #acting = 0;
  #until = Number.NEGATIVE_INFINITY;
  #gestureAt = Number.NEGATIVE_INFINITY;
  #returns = 0;

  /** `home` puts the focus into the chat, for where the very place is gone. */
  constructor(window: Window, home: () => void) {
    this.#window = window;
    this.#home = home;
    for (const type of KEYS) window.addEventListener(type, this.#pressed, true);
    for (const type of POINTERS) window.addEventListener(type, this.#pointed, true);
    window.addEventListener("focusin", this.#moved, true);
    window.addEventListener("focusout", this.#left, true);
  }

  /** Whether the person is in the chat, and the agent has only just done something. */
  get isWatching(): boolean {
    return this.#isGuarded && this.#place?.isOurs === true;
  }

  /** Do something to the page for the agent. The focus is back when that is over. */
  async during<T>(act: () => Promise<T>): Promise<T> {
    this.watch();
    this.#acting += 1;
    try {
      return await act();
    } finally {
      this.#acting -= 1;
      this.watch();
      this.#goBack();
    }
  }

  /** From now on the person is where they are. */
  watch(): void {
    if (!this.#isGuarded) this.#place = this.#here();
    else if (this.#place && this.#place.element === this.#active()) this.#place = this.#here();
    this.#until = performance.now() + AFTER_MS;
    this.#returns = 0;
  }

  get #isGuarded(): boolean {
    return this.#acting > 0 || performance.now() < this.#until;
  }

  get #isPersonal(): boolean {
    return performance.now() - this.#gestureAt < GESTURE_MS;
  }

  #pressed = (event: KeyboardEvent): void => {
    if (!event.isTrusted || !this.#isGuarded) return;
    const path = event.composedPath();
    const isThere = path.some(isOurs) || (path[0] ?? null) === this.#place?.element;
    if (isThere || (this.#place?.element === null && path[0] === this.#window.document.body)) {
      // Of what is typed into the chat, Tab alone leads out of it.
      if (event.key === "Tab" || !path.some(isOurs)) this.#gestureAt = performance.now();
      return;
    }
    event.preventDefault();
    event.stopImmediatePropagation();
    if (event.type !== "keydown") return;
    this.#returns = 0;
    this.#goBack();
    if (this.#place?.isOurs && isLetter(event)) write(this.#place.element, event.key);
  };

  #pointed = ({ isTrusted }: Event): void => {
    if (!isTrusted || !this.#isGuarded) return;
    this.#gestureAt = performance.now();
    // What it leads to has the focus before anything else happens; where that is nothing, nobody says so.
    setTimeout(() => {
      this.#place = this.#here();
    });
  };

  #moved = (event: Event): void => {
    if (!this.#isGuarded) return;
    if (this.#isPersonal || event.composedPath().some(isOurs)) this.#place = this.#here();
    else if (this.#acting === 0) this.#goBackSoon();
  };

  #left = ({ relatedTarget }: FocusEvent): void => {
    if (relatedTarget || this.#acting > 0 || !this.#isGuarded || this.#isPersonal) return;
    this.#goBackSoon();
  };

  #goBackSoon(): void {
    // Not within the page's script, which may not be done yet.
    queueMicrotask(() => {
      const { document } = this.#window;
      // In another window, or in a frame of the page's: there the person may have gone by themselves.
      if (!document.hasFocus() || document.activeElement?.localName === "iframe") return;
      if (this.#acting === 0 && !this.#isPersonal) this.#goBack();
    });
  }

  #goBack(): void {
    const place = this.#place;
    const active = this.#active();
    if (!place || active === place.element || this.#returns >= MOST_RETURNS) return;
    this.#returns += 1;
    if (place.element?.isConnected) {
      (place.element as HTMLElement).focus({ preventScroll: true });
      select(place);
    } else if (place.isOurs) this.#home();
    else (active as HTMLElement | null)?.blur?.();
  }

  #here(): Place {
    const element = this.#active();
    return { element, isOurs: element !== null && isWithin(element), selection: selectionOf(element) };
  }

  /** What has the focus, however deep; null where nothing has it. */
  #active(): Element | null {
    const { document } = this.#window;
    let at = document.activeElement;
    while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
    return at === document.body || at === document.documentElement ? null : at;
  }
}

function isOurs(node: EventTarget): boolean {
  return node instanceof Element && node.matches(OURS);
}

function isWithin(element: Element): boolean {
  for (let at: Node | null = element; at; at = at.parentNode ?? (at as Partial<ShadowRoot>).host ?? null)
    if (isOurs(at)) return true;
  return false;
}

function selectionOf(element: Element | null): Selected | null {
  if (!isField(element)) return null;
  try {
    return [element.selectionStart, element.selectionEnd, element.selectionDirection];
  } catch {
    return null;
  }
}

/** The caret where it was. Some kinds of field have none that a script may move. */
function select({ element, selection }: Place): void {
  if (!selection || selection[0] === null || !isField(element)) return;
  try {
    element.setSelectionRange(selection[0], selection[1], selection[2] ?? "none");
  } catch {
    // Its kind has changed.
  }
}

function isField(element: Element | null): element is Field {
  return element?.localName === "textarea" || element?.localName === "input";
}

function isLetter({ key, ctrlKey, metaKey, altKey, isComposing, keyCode }: KeyboardEvent): boolean {
  return [...key].length === 1 && !ctrlKey && !metaKey && !altKey && !isComposing && keyCode !== 229;
}

/** What was typed goes where it was meant to, also while the page does not let go of the focus. */
function write(field: Element | null, letter: string): void {
  if (!isField(field)) return;
  field.setRangeText(letter, field.selectionStart ?? 0, field.selectionEnd ?? 0, "end");
  field.dispatchEvent(new InputEvent("input", { bubbles: true, inputType: "insertText", data: letter }));
}
