/** A frame around the control that is being used, drawn above the page and outside of its layout. */

/** Shorter than this, nobody sees what was touched. */
const SEEN_MS = 900;

export class Highlight {
  readonly #frame: HTMLElement;
  #target: Element | null = null;
  #since = 0;
  #tick = 0;
  #hiding = 0;

  constructor(root: ShadowRoot) {
    this.#frame = root.ownerDocument.createElement("div");
    this.#frame.className = "frame";
    this.#frame.popover = "manual";
    root.appendChild(this.#frame);
  }

  /** Frame this element; null when nothing is being used any more. Whether a frame is there that was not before. */
  point(target: Element | null): boolean {
    if (target === this.#target && !this.#hiding) return false;
    clearTimeout(this.#hiding);
    this.#hiding = 0;
    if (target) this.#show(target);
    else if (this.#target) {
      this.#hiding = window.setTimeout(() => this.hide(), this.#since + SEEN_MS - performance.now());
    }
    return target !== null;
  }

  hide(): void {
    clearTimeout(this.#hiding);
    cancelAnimationFrame(this.#tick);
    this.#hiding = 0;
    this.#target = null;
    if (this.#frame.matches(":popover-open")) this.#frame.hidePopover();
  }

  #show(target: Element): void {
    if (target !== this.#target) this.#since = performance.now();
    this.#target = target;
    cancelAnimationFrame(this.#tick);
    // In the top layer: no ancestor's transform moves it, and nothing of the page covers it.
    if (this.#frame.isConnected && !this.#frame.matches(":popover-open")) this.#frame.showPopover();
    this.#follow();
  }

  #follow = (): void => {
    if (!this.#target?.isConnected) {
      this.hide();
      return;
    }
    const { left, top, width, height } = boxOf(this.#target);
    const style = this.#frame.style;
    style.setProperty("left", `${left}px`);
    style.setProperty("top", `${top}px`);
    style.setProperty("width", `${width}px`);
    style.setProperty("height", `${height}px`);
    this.#tick = requestAnimationFrame(this.#follow);
  };
}

interface Box {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

/** Where an element is in the window, also when it lies in frames within frames. */
function boxOf(element: Element): Box {
  let { left, top, width, height } = element.getBoundingClientRect();
  let frame = element.ownerDocument.defaultView?.frameElement;
  while (frame) {
    const outer = frame.getBoundingClientRect();
    left += outer.left + frame.clientLeft;
    top += outer.top + frame.clientTop;
    frame = frame.ownerDocument.defaultView?.frameElement;
  }
  return { left, top, width, height };
}
