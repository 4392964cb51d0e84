/**
 * Whether a person really sees what is asked: nothing lies over it, and nothing makes it see-through. The browser tells
 * where it can (Chromium); elsewhere what a click would reach is all that is known.
 */

/** In full view, but for what rounding takes away. */
const WHOLE = 0.98;
/** How long the browser has to say anything at all, and how often we look without it. */
const SILENCE_MS = 2000;
const LOOK_MS = 250;
/** The options are the browser's own; the types do not know them. */
const TRACKING = { threshold: [0, 0.5, WHOLE, 1], trackVisibility: true, delay: 100 };

/** `hidden`: out of view, which is nobody's doing. */
export type Sight = "clear" | "covered" | "hidden";

interface Entry extends IntersectionObserverEntry {
  readonly isVisible?: boolean;
}

/** Watches a button, and the texts that say what it does. */
export class Watch {
  readonly #button: Element;
  readonly #texts: readonly Element[];
  readonly #told: (sight: Sight) => void;
  readonly #sights = new Map<Element, Sight>();
  #observer: IntersectionObserver | null = null;
  #timer = 0;
  #sight: Sight | null = null;

  constructor(button: Element, texts: readonly Element[], told: (sight: Sight) => void) {
    this.#button = button;
    this.#texts = texts;
    this.#told = told;
    if ("trackVisibility" in IntersectionObserver.prototype) {
      this.#observer = new IntersectionObserver((entries) => this.#seen(entries), TRACKING);
      for (const element of [button, ...texts]) this.#observer.observe(element);
      this.#timer = window.setTimeout(this.#look, SILENCE_MS);
    } else this.#timer = window.setTimeout(this.#look, LOOK_MS);
  }

  stop(): void {
    this.#observer?.disconnect();
    clearTimeout(this.#timer);
  }

  /** Whether the button can be seen at this moment: it may have been scrolled to just now. */
  isClear(): boolean {
    return this.#sight === "clear" || (this.#sight !== "covered" && this.#hits() === "clear");
  }

  #seen(entries: readonly Entry[]): void {
    clearTimeout(this.#timer);
    for (const { target, intersectionRatio, isVisible } of entries)
      this.#sights.set(target, intersectionRatio < WHOLE ? "hidden" : isVisible ? "clear" : "covered");
    const all = [...this.#sights.values()];
    this.#tell(all.includes("covered") ? "covered" : (this.#sights.get(this.#button) ?? "hidden"));
  }

  #look = (): void => {
    this.#timer = window.setTimeout(this.#look, LOOK_MS);
    this.#tell(this.#hits());
  };

  /** By what a click would reach. */
  #hits(): Sight {
    const hits = [this.#button, ...this.#texts].map(hitsOf);
    const root = this.#button.closest(".root");
    if (hits.flat().some((hit) => hit && !root?.contains(hit))) return "covered";
    return hits[0]?.every((hit) => this.#button.contains(hit)) ? "clear" : "hidden";
  }

  #tell(sight: Sight): void {
    if (sight === this.#sight) return;
    this.#sight = sight;
    this.#told(sight);
  }
}

/** What a click would reach, at several points of an element; null where it is scrolled out of view. */
function hitsOf(element: Element): (Element | null)[] {
  const { left, top, width, height } = element.getBoundingClientRect();
  const root = element.getRootNode() as Document | ShadowRoot;
  const frames = [".approval > .scroll", ".approvals", ".panel"].flatMap(
    (name) => element.closest(name)?.getBoundingClientRect() ?? [],
  );
  const isIn = (x: number, y: number) =>
    frames.every((frame) => x > frame.left && x < frame.right && y > frame.top && y < frame.bottom);
  return [0.1, 0.5, 0.9].flatMap((across) =>
    [0.2, 0.5, 0.8].map((down) => {
      const [x, y] = [left + width * across, top + height * down];
      return isIn(x, y) ? root.elementFromPoint(x, y) : null;
    }),
  );
}
