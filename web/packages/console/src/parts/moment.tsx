/** Moments and spans, as people say them. The exact one is always there for those who point at it. */

import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { present } from "../clock";

/** Up to so many seconds, said in that unit. */
const STEPS: readonly (readonly [number, Intl.RelativeTimeFormatUnit])[] = [
  [60, "second"],
  [3600, "minute"],
  [86_400, "hour"],
  [2_592_000, "day"],
];
/** Seconds that the server's clock may be ahead of this one. */
const SKEW = 5;
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "short" });
const exactly = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });
const byDay = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium" });

/** How long ago, or how soon. */
export function ago(at: number, now: number): string {
  const seconds = Math.round((at - now) / 1000);
  // Two clocks are never quite the same: what has just happened is not still to come.
  if (seconds > 0 && seconds < SKEW) return relative.format(0, "second");
  let size = 1;
  for (const [bound, unit] of STEPS) {
    if (Math.abs(seconds) < bound) return relative.format(Math.trunc(seconds / size), unit);
    size = bound;
  }
  return byDay.format(at);
}

export function Moment({ at }: { at: string | null | undefined }): VNode | null {
  useNow(30_000);
  const time = Date.parse(at ?? "");
  if (!at || Number.isNaN(time)) return null;
  return (
    <time dateTime={at} title={exactly.format(time)}>
      {ago(time, present())}
    </time>
  );
}

/** A moment to the second, for logs. */
export function Clock({ at }: { at: string }): VNode {
  const time = Date.parse(at);
  return (
    <time dateTime={at} title={at}>
      {Number.isNaN(time) ? at : exactly.format(time)}
    </time>
  );
}

/** The present moment by the server’s clock, told again every so often. */
export function useNow(every: number): number {
  const [now, setNow] = useState(present);
  useEffect(() => {
    const timer = setInterval(() => setNow(present()), every);
    return () => clearInterval(timer);
  }, [every]);
  return now;
}

/** A span of time: `320 ms`, `4.2 s`, `3 min 5 s`. */
export function span(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  const seconds = milliseconds / 1000;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60
    ? `${minutes} min ${Math.floor(seconds % 60)} s`
    : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
