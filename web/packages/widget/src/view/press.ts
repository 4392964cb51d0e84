/**
 * A press of a button that somebody meant. It begins and ends on the button, with the pointer or with a key, and a key
 * finds the focus there already: a script can move the focus under a finger that is on its way, but not turn back time.
 */

import { asPressed } from "../keys";

/** How long the focus has to be there before a key counts, by the times of the events. */
const SETTLED_MS = 300;
/** A pointer that went down longer ago belongs to something else. */
const HELD_MS = 10_000;

export interface Pressed {
  /** When it began, by the clock of `performance`. */
  readonly at: number;
}

export class Press {
  #focusedAt = Number.POSITIVE_INFINITY;
  #key: { readonly name: string; readonly at: number } | null = null;
  #pointerAt = Number.NEGATIVE_INFINITY;

  /** `meant` is told of each press; `tooSoon` of keys that may have been meant for something else. */
  constructor(
    private readonly meant: (press: Pressed) => void,
    private readonly tooSoon: () => void,
  ) {}

  /** What to give to the button. */
  readonly on = {
    onFocus: ({ isTrusted, timeStamp }: FocusEvent): void => {
      this.#focusedAt = isTrusted ? timeStamp : Number.POSITIVE_INFINITY;
    },
    onBlur: (): void => {
      this.#focusedAt = Number.POSITIVE_INFINITY;
      this.#key = null;
    },
    onPointerDown: (event: PointerEvent): void => this.#point(event),
    // What helps people who cannot see or point says this, if not the other.
    onMouseDown: (event: MouseEvent): void => this.#point(event),
    onKeyDown: (event: KeyboardEvent): void => {
      const { key, repeat, isTrusted, timeStamp } = asPressed(event);
      if (!isOurs(event) || repeat || !isTrusted) return;
      const isSettled = this.#isSettledAt(timeStamp);
      this.#key = isSettled ? { name: key, at: timeStamp } : null;
      if (!isSettled) this.tooSoon();
    },
    onKeyPress: (event: KeyboardEvent): void => void isOurs(event),
    onKeyUp: (event: KeyboardEvent): void => {
      if (!isOurs(event) || !asPressed(event).isTrusted) return;
      const key = this.#key;
      this.#key = null;
      if (key?.name === event.key) this.meant(key);
    },
    onClick: ({ isTrusted, timeStamp }: MouseEvent): void => {
      const isPointed = timeStamp - this.#pointerAt < HELD_MS;
      const at = isPointed ? this.#pointerAt : timeStamp;
      this.#pointerAt = Number.NEGATIVE_INFINITY;
      if (isTrusted && (isPointed || this.#isSettledAt(at))) this.meant({ at });
    },
  };

  #point({ isTrusted, timeStamp }: Event): void {
    if (isTrusted) this.#pointerAt = timeStamp;
  }

  #isSettledAt(time: number): boolean {
    return time - this.#focusedAt >= SETTLED_MS;
  }
}

/** Whether a key presses buttons. What it does by itself is left undone: on some buttons half a press is enough. */
function isOurs(event: KeyboardEvent): boolean {
  const isIt = event.key === "Enter" || event.key === " ";
  if (isIt) event.preventDefault();
  return isIt;
}
