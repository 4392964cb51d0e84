/** What grows at its end, and stays there, unless the reader has scrolled away. A question is shown from its beginning:
nobody shall find its buttons before what they are about. */

import type { ComponentChildren, VNode } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon } from "../../parts/icon";

interface Props {
  readonly isBusy: boolean;
  /** Changes with whatever is new at the end. */
  readonly grown: string;
  /** Changes when something was put in front. */
  readonly top: number;
  /** The last run that was begun here: it leads to the end. */
  readonly own: string;
  readonly children: ComponentChildren;
}

/** Nearer than this to the end counts as the end, in pixels. */
const NEAR = 60;
/** What is new may still change its height for so long; later it is the reader who unfolds something. */
const SETTLING_MS = 1_000;

export function Scrolled({ isBusy, grown, top, own, children }: Props): VNode {
  const list = useRef<HTMLDivElement>(null);
  const inner = useRef<HTMLDivElement>(null);
  const before = useRef({ height: 0, top, own, at: 0, isAway: false, place: -1 });
  const [isAway, setIsAway] = useState(false);
  const away = (next: boolean) => {
    before.current.isAway = next;
    setIsAway(next);
  };
  const stay = () => {
    if (list.current && !before.current.isAway) before.current.place = endOf(list.current);
  };
  const toEnd = () => {
    away(false);
    list.current?.scrollTo({ top: list.current.scrollHeight });
  };
  useLayoutEffect(() => {
    const element = list.current;
    if (!element) return;
    const old = before.current;
    if (old.own !== own) old.isAway = false;
    if (old.top > top && top > 0) element.scrollTop += element.scrollHeight - old.height;
    else stay();
    before.current = { ...old, height: element.scrollHeight, top, own, at: performance.now() };
  }, [grown, top, own, isBusy]);
  useEffect(() => {
    const observer = new ResizeObserver(() => {
      if (performance.now() - before.current.at < SETTLING_MS) stay();
      before.current.height = list.current?.scrollHeight ?? 0;
    });
    if (inner.current) observer.observe(inner.current);
    return () => observer.disconnect();
  }, []);
  return (
    <div class="log-frame">
      <div
        ref={list}
        class="log"
        role="log"
        aria-live="polite"
        // Read when it is whole, not word by word.
        aria-busy={isBusy}
        aria-label="What was said and done"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by those without a pointer.
        tabIndex={0}
        onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) => {
          const isOurs = Math.abs(scrollTop - before.current.place) < 2;
          away(!isOurs && scrollHeight - scrollTop - clientHeight > NEAR);
        }}
        // Pictures have their size only once they are there.
        onLoadCapture={stay}
      >
        <div ref={inner} class="log-inner">
          {children}
        </div>
      </div>
      {isAway && (
        <button type="button" class="latest" onClick={toEnd}>
          <Icon name="down" />
          Latest
        </button>
      )}
    </div>
  );
}

/** Go to the end, or to the first question if that begins before what would be seen there. Where that is. */
function endOf(list: HTMLElement): number {
  list.scrollTop = list.scrollHeight;
  const question = list.querySelector(".asked");
  const above = question ? list.getBoundingClientRect().top + GAP - question.getBoundingClientRect().top : 0;
  if (above > 0) list.scrollTop -= above;
  return list.scrollTop;
}

const GAP = 12;
