/**
 * Where the chat is drawn: in its element, or as a guest in what alone can be used (modals.ts). The element itself stays
 * where it is: the page may hold on to it, and to what is beside it. Nothing that is drawn is made anew by a move.
 */

import { BEFORE_ALL, holds, Modals, roomIn } from "./modals";

/** As often as this it goes back into what throws it out. More, and two scripts would do nothing else. */
const MOST_RETURNS = 10;

/** Events that are no business of what the guest lies in: a click on the chat is none beside the dialog's content. */
const KEPT_FROM_HOST = [
  ...["click", "dblclick", "auxclick", "contextmenu", "mousedown", "mouseup", "pointerdown", "pointerup"],
  ...["touchstart", "touchmove", "touchend", "wheel"],
];

/** What a page may say about our colours and sizes, which a guest would not hear. */
const VARIABLES =
  "accent accent-text background soft text faint border danger radius font offset width height".split(" ");

export interface Play {
  /** Whether it may leave the place that the page gave it. */
  mayLeave(): boolean;
  leaving(): void;
  /** It is in another place now. */
  moved(): void;
}

export class Stage {
  readonly #element: HTMLElement;
  readonly #home: ShadowRoot;
  readonly #root: HTMLElement;
  readonly #play: Play;
  readonly #modals: Modals;
  readonly #around = new MutationObserver(() => {
    if (this.#guest && !this.#guest.isConnected) this.#thrownOut();
  });
  readonly #scrolled = new WeakMap<Element, number>();
  #guest: HTMLElement | null = null;
  /** What the guest is in, and how often it was thrown out of there. */
  #within: Element | null = null;
  #returns = 0;
  /** What was on top when it was last looked. */
  #top: Element | null = null;
  /** What had the focus when something of the page took it, in this very moment. */
  #left: HTMLElement | null = null;

  /** `root` is all that is drawn, in the shadow of `element` to begin with. */
  constructor(element: HTMLElement, home: ShadowRoot, root: HTMLElement, play: Play) {
    this.#element = element;
    this.#home = home;
    this.#root = root;
    this.#play = play;
    this.#modals = new Modals(element.ownerDocument, () => this.follow());
    for (const type of KEPT_FROM_HOST)
      root.addEventListener(type, (event) => this.#guest && event.stopPropagation(), { passive: true });
    root.addEventListener("focusout", this.#focusLeft);
    root.addEventListener("scroll", this.#scrolls, { capture: true, passive: true });
  }

  /** Whether an element that lies in the page could not be used there. */
  get isBlocked(): boolean {
    const { top } = this.#modals;
    return top !== null && !holds(top, this.#element);
  }

  get isAway(): boolean {
    return this.#guest !== null;
  }

  /** What of the chat has the focus. */
  get focused(): HTMLElement | null {
    const { activeElement } = this.#root.getRootNode() as Partial<ShadowRoot>;
    return activeElement && this.#root.contains(activeElement) ? (activeElement as HTMLElement) : null;
  }

  open(): void {
    this.#element.ownerDocument.addEventListener("focusin", this.#focusWent, true);
    this.#modals.start();
  }

  close(): void {
    this.#element.ownerDocument.removeEventListener("focusin", this.#focusWent, true);
    this.#modals.stop();
    this.#top = null;
    if (this.#guest) this.#goTo(null);
  }

  /** Go where it can be used, and back. */
  follow(): void {
    this.#modals.look();
    const { top } = this.#modals;
    const isNew = top !== this.#top;
    if (isNew) this.#returns = 0;
    this.#top = top;
    const isWanted =
      this.isBlocked && this.#returns <= MOST_RETURNS && (this.isAway || this.#play.mayLeave());
    const goal = isWanted ? top : null;
    if (isNew || goal !== this.#within || this.#guest?.isConnected === false) this.#goTo(goal);
    this.#left = null;
  }

  /** Above all else that is above the page. */
  raise(): void {
    const root = this.#root;
    if (!root.popover || !root.isConnected) return;
    if (root.matches(":popover-open")) root.hidePopover();
    root.showPopover();
  }

  /** Hand on what the page says about colours and sizes, and whether it is to be seen at all. */
  dress(): void {
    if (!this.#guest) return;
    this.#guest.hidden = this.#element.hidden;
    const said = getComputedStyle(this.#element);
    for (const name of VARIABLES)
      this.#guest.style.setProperty(`--pollux-${name}`, said.getPropertyValue(`--pollux-${name}`));
  }

  #goTo(top: Element | null): void {
    const room = top && roomIn(top);
    const focus = this.focused ?? this.#left;
    if (room || this.#guest) {
      const old = this.#guest;
      if (!old) this.#play.leaving();
      this.#around.disconnect();
      this.#guest = room && this.#guestIn(room);
      this.#carryTo(this.#guest?.shadowRoot ?? this.#home);
      // Not by its own `remove`, which pages are known to have changed.
      old?.parentNode?.removeChild(old);
      this.#play.moved();
    }
    this.#within = top;
    this.raise();
    if (focus && focus !== this.focused) focus.focus({ preventScroll: true });
  }

  #thrownOut(): void {
    this.#returns += 1;
    this.follow();
  }

  #guestIn(room: Element | ShadowRoot): HTMLElement {
    const guest = this.#element.ownerDocument.createElement("div");
    // The agent leaves this out of what it sees.
    guest.dataset.polluxChat = "";
    guest.attachShadow({ mode: "open" }).adoptedStyleSheets = this.#home.adoptedStyleSheets;
    room.appendChild(guest);
    // Whatever of this is taken away, the guest is gone.
    for (let at: Node | null = room; at; at = at.parentNode ?? (at as Partial<ShadowRoot>).host ?? null)
      this.#around.observe(at, { childList: true });
    return guest;
  }

  #carryTo(place: ShadowRoot): void {
    if (place.isConnected && this.#root.isConnected && "moveBefore" in place) {
      place.moveBefore(this.#root, null);
      return;
    }
    place.appendChild(this.#root);
    // What leaves a page for a moment is scrolled back to its beginning.
    for (const element of this.#root.querySelectorAll("*")) {
      const top = this.#scrolled.get(element);
      if (top) element.scrollTop = top;
    }
  }

  #scrolls = ({ target }: Event): void => {
    if (target instanceof Element) this.#scrolled.set(target, target.scrollTop);
  };

  /** A dialog that opens takes the focus, and one that closes gives it to whoever had it before. */
  #focusLeft = ({ target, relatedTarget }: FocusEvent): void => {
    const isShut = this.#within !== null && !this.#within.matches(BEFORE_ALL);
    this.#left = relatedTarget || isShut ? (target as HTMLElement) : null;
  };

  #focusWent = (event: Event): void => {
    if (!this.#left || event.composedPath().includes(this.#root)) return;
    // Not within the page's script, which may not be done with the dialog yet.
    queueMicrotask(() => this.follow());
  };
}
