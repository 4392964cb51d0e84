/** Where a run's time went. Where several things happen at once, the moment counts for the first of `KINDS`. */

export const KINDS = ["model", "tool", "person", "rest"] as const;
export type Kind = (typeof KINDS)[number];

export const KIND_WORDS: Readonly<Record<Kind, string>> = {
  model: "Model",
  tool: "Tools",
  person: "Waiting for a person",
  rest: "Everything else",
};

/** Something that took a while. Without an end it goes on. */
export interface Span {
  readonly kind: Exclude<Kind, "rest">;
  readonly from: number;
  readonly to: number | null;
}

export interface Segment {
  readonly kind: Kind;
  readonly from: number;
  readonly to: number;
}

/** The time between two moments, cut into pieces that each count for one thing. */
export function segments(spans: readonly Span[], from: number, to: number): Segment[] {
  const clipped = spans
    .map((span) => ({ ...span, from: Math.max(span.from, from), to: Math.min(span.to ?? to, to) }))
    .filter((span) => span.to > span.from);
  const marks = [...new Set([from, to, ...clipped.flatMap((span) => [span.from, span.to])])].sort(
    (a, b) => a - b,
  );
  // Begun and ended in order of time, so that a long journal is walked once.
  const byStart = [...clipped].sort((a, b) => a.from - b.from);
  const found: Segment[] = [];
  let open: typeof clipped = [];
  let next = 0;
  for (const [index, mark] of marks.slice(0, -1).entries()) {
    open = open.filter((span) => span.to > mark);
    for (let span = byStart[next]; span && span.from <= mark; span = byStart[++next]) open.push(span);
    const kind = KINDS.find((each) => open.some((span) => span.kind === each)) ?? "rest";
    const end = marks[index + 1] ?? mark;
    const before = found.at(-1);
    if (before?.kind === kind) found[found.length - 1] = { ...before, to: end };
    else found.push({ kind, from: mark, to: end });
  }
  return found;
}

const LEAST_MS = 0.5;

/** How much of it each thing took. Those that took nothing to speak of are left out. */
export function totals(pieces: readonly Segment[]): [Kind, number][] {
  return KINDS.map((kind): [Kind, number] => [
    kind,
    pieces.reduce((sum, piece) => sum + (piece.kind === kind ? piece.to - piece.from : 0), 0),
  ]).filter(([, took]) => took >= LEAST_MS);
}
