/** Where the time went, as a bar. The words beneath say the same. */

import type { VNode } from "preact";
import { useId } from "preact/hooks";
import { span } from "../../parts/moment";
import { KIND_WORDS, type Kind, segments, totals } from "./spans";
import type { Story } from "./story";

const WIDE = 1000;
const HIGH = 22;
/** One kind of time is told from another by its height, too. */
const HEIGHTS: Readonly<Record<Kind, number>> = { model: HIGH, tool: 15, person: 9, rest: 3 };
/** What took the blink of an eye is still to be seen. */
const LEAST = 3;

export function Overview({ story, now }: { story: Story; now: number }): VNode | null {
  const title = useId();
  const to = Math.max(story.ended ?? now, story.began);
  const whole = to - story.began;
  if (whole <= 0) return null;
  const pieces = segments(story.spans, story.began, to);
  const sums = totals(pieces);
  const told = sums.map(([kind, took]) => `${KIND_WORDS[kind]} ${span(took)}`).join(", ");
  return (
    <figure class="overview">
      <svg viewBox={`0 0 ${WIDE} ${HIGH}`} preserveAspectRatio="none" role="img" aria-labelledby={title}>
        <title id={title}>{`Where ${span(whole)} went: ${told}`}</title>
        <rect class="rest" y={HIGH - HEIGHTS.rest} width={WIDE} height={HEIGHTS.rest} />
        {pieces
          .filter(({ kind }) => kind !== "rest")
          .map(({ kind, from, to: end }) => {
            const x = ((from - story.began) / whole) * WIDE;
            const wide = Math.max(LEAST, ((end - from) / whole) * WIDE);
            return (
              <rect
                key={from}
                class={kind}
                x={Math.min(x, WIDE - wide)}
                y={HIGH - HEIGHTS[kind]}
                width={wide}
                height={HEIGHTS[kind]}
              >
                <title>{`${KIND_WORDS[kind]}: ${span(end - from)}`}</title>
              </rect>
            );
          })}
      </svg>
      <figcaption>
        <ul class="legend">
          {sums.map(([kind, took]) => (
            <li key={kind}>
              <Swatch kind={kind} />
              {KIND_WORDS[kind]} <b>{span(took)}</b>
            </li>
          ))}
        </ul>
      </figcaption>
    </figure>
  );
}

function Swatch({ kind }: { kind: Kind }): VNode {
  return (
    <svg class="swatch" viewBox={`0 0 ${HIGH} ${HIGH}`} aria-hidden="true" focusable="false">
      <rect class={kind} y={HIGH - HEIGHTS[kind]} width={HIGH} height={HEIGHTS[kind]} />
    </svg>
  );
}
