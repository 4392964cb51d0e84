/** Keys for those who answer many questions. None of them approves by itself, and none counts while somebody types. */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { signalled } from "../../parts/signal";
import type { Arming } from "./meant";

const KEPT = "pollux-keys";
/** Two presses belong together within this time; faster than the first bound nobody means both. */
const BETWEEN_MS = [250, 5_000] as const;

/** Whether single keys do anything. They disturb some people, and can be turned off. */
export const keysOn = signalled(isKeptOn());

export function turnKeys(isOn: boolean): void {
  keysOn.set(isOn);
  try {
    localStorage.setItem(KEPT, isOn ? "on" : "off");
  } catch {
    // It counts until the page is left.
  }
}

/** Be told of keys that are meant for the page: not typed into something, not of the browser, not held down. */
export function usePageKeys(told: (key: string, event: KeyboardEvent) => void, isOn = true): void {
  const latest = useRef(told);
  latest.current = told;
  // At once: the next key may follow closely.
  useLayoutEffect(() => {
    if (!isOn) return;
    const pressed = (event: KeyboardEvent) => {
      if (!event.isTrusted || event.repeat || event.isComposing || event.defaultPrevented) return;
      if (event.ctrlKey || event.metaKey || event.altKey || isTypedInto(event.target)) return;
      if (document.querySelector("dialog[open]")) return;
      if (keysOn.get() || event.key.length > 1) latest.current(event.key, event);
    };
    document.addEventListener("keydown", pressed);
    return () => document.removeEventListener("keydown", pressed);
  }, [isOn]);
}

interface Answers {
  readonly isOn: boolean;
  /** Whether somebody is at another question than this one: what they press is not for this one. */
  readonly isElsewhere: () => boolean;
  readonly arming: Arming;
  readonly onApprove: () => void;
  readonly onReject: () => void;
  readonly onEdit: () => void;
  readonly onTooSoon: () => void;
}

/** The answers by key, for the one question that is open. Whether the first of the two presses has been made. */
export function useAnswerKeys({ isOn, arming, ...on }: Answers): boolean {
  const first = useRef(Number.NEGATIVE_INFINITY);
  const [isHalf, setIsHalf] = useState(false);
  useEffect(() => {
    if (!isHalf) return;
    const timer = setTimeout(() => setIsHalf(false), BETWEEN_MS[1]);
    return () => clearTimeout(timer);
  }, [isHalf]);
  // What was half agreed to is gone.
  useEffect(() => setIsHalf(false), [arming.isArmed, isOn]);

  const approve = (at: number, isWhole: boolean) => {
    if (!arming.isArmed || !arming.allows(at)) return on.onTooSoon();
    const since = at - first.current;
    if (isWhole || (isHalf && since >= BETWEEN_MS[0] && since <= BETWEEN_MS[1])) {
      setIsHalf(false);
      return on.onApprove();
    }
    if (isHalf) return;
    first.current = at;
    setIsHalf(true);
  };
  usePageKeys((key, event) => {
    if (on.isElsewhere()) return setIsHalf(false);
    if (key === "a" || key === "A") approve(event.timeStamp, key === "A" && event.shiftKey);
    else if (isHalf) setIsHalf(false);
    if (key !== "r" && key !== "e") return;
    // Else the letter would stand in the field that opens.
    event.preventDefault();
    if (key === "r") on.onReject();
    else on.onEdit();
  }, isOn);
  return isHalf;
}

function isTypedInto(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return target.type !== "checkbox" && target.type !== "radio";
  return target.isContentEditable || target.matches("textarea, select");
}

function isKeptOn(): boolean {
  try {
    return localStorage.getItem(KEPT) !== "off";
  } catch {
    return true;
  }
}
