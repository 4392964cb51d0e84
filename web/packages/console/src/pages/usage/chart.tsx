/** A bar for each day, one model's part upon the other's. What it shows also stands in the table beneath the charts. */

import type { VNode } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { several } from "../../parts/amounts";
import { type Column, roundUp } from "./sums";

interface Props {
  readonly title: string;
  readonly columns: readonly Column[];
  readonly series: readonly string[];
  /** A value as people read it: in full, and beside the axis. */
  readonly format: (value: number) => string;
  readonly axis: (value: number) => string;
  /** What to say of a day of which not everything is known. */
  readonly partial?: string;
}

const HIGH = 200;
const LEFT = 58;
const TOP = 16;
const BOTTOM = 24;
const FLOOR = HIGH - BOTTOM;
const dayWords = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });
const wholeDay = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeZone: "UTC" });

export function Chart({ title, columns, series, format, axis, partial = "" }: Props): VNode {
  const [box, width] = useWidth();
  const [pointed, setPointed] = useState<number | null>(null);
  const id = useId();
  const sums = columns.map(({ values }) => values.reduce((sum, value) => sum + value, 0));
  const most = Math.max(0, ...sums);
  const top = roundUp(most);
  const step = (width - LEFT) / Math.max(1, columns.length);
  const words = (index: number) => {
    const column = columns[index];
    const missing = column?.isPartial ? ` ${partial}` : "";
    return column ? `${dayName(column.day)}: ${format(sums[index] ?? 0)}${missing}` : "";
  };
  const busiest = sums.indexOf(most);
  return (
    <figure class="chart">
      <figcaption>
        <h2>{title}</h2>
      </figcaption>
      <div class="box" ref={box}>
        {width > LEFT && (
          <svg width={width} height={HIGH} role="img" aria-labelledby={`${id}-title ${id}-desc`}>
            <title id={`${id}-title`}>{title}</title>
            <desc id={`${id}-desc`}>{described(columns, sums, words)}</desc>
            <Patterns id={id} />
            {[0, top / 2, top].map((value) => (
              <g key={value} class="axis">
                <line x1={LEFT} x2={width} y1={heightOf(value, top)} y2={heightOf(value, top)} />
                <text x={LEFT - 8} y={heightOf(value, top) + 4} text-anchor="end">
                  {axis(value)}
                </text>
              </g>
            ))}
            {columns.map((column, index) => (
              <Bar
                key={column.day}
                {...{ id, column, top, step }}
                x={LEFT + index * step}
                isPointed={pointed === index}
                words={words(index)}
                onPointed={() => setPointed(index)}
              />
            ))}
            <DayNames columns={columns} step={step} width={width} />
          </svg>
        )}
      </div>
      <p class="readout faint">
        {pointed !== null
          ? words(pointed)
          : most > 0
            ? `Most on ${words(busiest)}`
            : "Nothing in these days."}
      </p>
      {series.length > 1 && (
        <ul class="legend">
          {series.map((name, place) => (
            <li key={name}>
              <svg class="swatch" viewBox="0 0 12 12" aria-hidden="true" focusable="false">
                <rect class={`series-${place}`} width="12" height="12" rx="2" />
                <rect fill={`url(#${id}-pattern-${place})`} width="12" height="12" rx="2" />
              </svg>
              {name}
            </li>
          ))}
        </ul>
      )}
    </figure>
  );
}

interface BarProps {
  readonly id: string;
  readonly column: Column;
  readonly top: number;
  readonly step: number;
  readonly x: number;
  readonly words: string;
  readonly isPointed: boolean;
  readonly onPointed: () => void;
}

function Bar({ id, column, top, step, x, words, isPointed, onPointed }: BarProps): VNode {
  const gap = step > 4 ? Math.min(8, step * 0.25) : 0;
  const wide = Math.max(0.5, Math.min(step - gap, 56));
  const left = x + (step - wide) / 2;
  let under = 0;
  const parts = column.values.flatMap((value, place) => {
    const from = heightOf(under, top);
    under += value;
    const to = Math.min(heightOf(under, top), from);
    // What was used is to be seen, however little it was.
    return value > 0 ? [{ place, y: Math.min(to, from - 1), high: Math.max(1, from - to) }] : [];
  });
  return (
    // Pointing at it only says again what the table says.
    <g class={isPointed ? "bar pointed" : "bar"} onPointerEnter={onPointed}>
      <title>{words}</title>
      <rect class="hit" x={x} y={TOP} width={step} height={FLOOR - TOP} />
      {parts.map(({ place, y, high }) => (
        <g key={place}>
          <rect class={`series-${place}`} x={left} y={y} width={wide} height={high} />
          <rect fill={`url(#${id}-pattern-${place})`} x={left} y={y} width={wide} height={high} />
        </g>
      ))}
      {column.isPartial && (
        <text class="mark" x={x + step / 2} y={heightOf(under, top) - 4} text-anchor="middle">
          ?
        </text>
      )}
    </g>
  );
}

/** One model can be told from another without its colour, too. */
function Patterns({ id }: { id: string }): VNode {
  const lines = ["", "M-1 1l2-2M0 6l6-6M5 7l2-2", "M3 0v6", "M0 3h6", "M0 0l6 6M0 6l6-6"];
  return (
    <defs>
      {lines.map((line, place) => (
        <pattern
          key={line}
          id={`${id}-pattern-${place}`}
          width="6"
          height="6"
          patternUnits="userSpaceOnUse"
          class="pattern"
        >
          <path d={line} />
        </pattern>
      ))}
    </defs>
  );
}

function DayNames({
  columns,
  step,
  width,
}: {
  columns: readonly Column[];
  step: number;
  width: number;
}): VNode {
  const room = Math.max(1, Math.floor((width - LEFT) / 76));
  const every = Math.max(1, Math.ceil(columns.length / room));
  // Counted from today, which always has its name.
  const named = columns
    .map((column, index) => ({ column, index }))
    .filter(({ index }) => (columns.length - 1 - index) % every === 0);
  return (
    <g class="axis">
      {named.map(({ column, index }) => {
        const middle = LEFT + (index + 0.5) * step;
        const isLast = middle > width - 24;
        const isFirst = middle < LEFT + 16;
        return (
          <text
            key={column.day}
            x={isLast ? width : isFirst ? LEFT : middle}
            y={HIGH - 6}
            text-anchor={isLast ? "end" : isFirst ? "start" : "middle"}
          >
            {dayWords.format(Date.parse(column.day))}
          </text>
        );
      })}
    </g>
  );
}

function described(
  columns: readonly Column[],
  sums: readonly number[],
  words: (index: number) => string,
): string {
  const used = columns.map((_, index) => index).filter((index) => (sums[index] ?? 0) > 0);
  if (used.length === 0) return `Nothing in ${several(columns.length, "day")}.`;
  const most = used.reduce((best, index) => ((sums[index] ?? 0) > (sums[best] ?? 0) ? index : best));
  return `${several(columns.length, "day")}, something on ${used.length} of them. Most on ${words(most)}. The table beneath has every number.`;
}

export function dayName(day: string): string {
  return wholeDay.format(Date.parse(day));
}

function heightOf(value: number, top: number): number {
  return FLOOR - (value / top) * (FLOOR - TOP);
}

/** How wide the place for it is, so that its words are never stretched. */
function useWidth(): [ref: { current: HTMLDivElement | null }, width: number] {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    if (!box.current) return;
    const watcher = new ResizeObserver(([entry]) => setWidth(Math.floor(entry?.contentRect.width ?? 0)));
    watcher.observe(box.current);
    return () => watcher.disconnect();
  }, []);
  return [box, width];
}
