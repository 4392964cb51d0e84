/** What is told of a page that shows more than can be told: the most important first, and of the rest how much it is. */

import type { Entry } from "./entries";

export interface Cut {
  readonly kept: readonly Entry[];
  /** How many entries were left out, by the container's entry that they lie in; null for the page itself. */
  readonly left: ReadonlyMap<Entry | null, number>;
}

const SHORT_LIST = 8;
const FIRST_ITEMS = 5;
const MOST_ITEMS = 12;
/** What a line takes that says how much was left out. */
const NOTE = 150;

const encoder = new TextEncoder();
const { stringify } = JSON;

/** Bytes of a line as it goes over the wire. */
export function sizeOf(line: string): number {
  return encoder.encode(stringify(line)).length + 1;
}

/** What is beyond the first few items of long lists; those in view are not. */
export function collapsed(entries: readonly Entry[], isInView: (entry: Entry) => boolean): Set<Entry> {
  const out = new Set<Entry>();
  for (const items of listsOf(entries)) {
    if (items.length <= SHORT_LIST) continue;
    let kept = 0;
    for (const item of items) {
      if (kept < FIRST_ITEMS || (kept < MOST_ITEMS && item.some(isInView))) kept++;
      else for (const entry of item) out.add(entry);
    }
  }
  return out;
}

/** The entries that fit into so many bytes: by weight, then in the order of the page, each with its containers. */
export function fitted(
  entries: readonly Entry[],
  out: ReadonlySet<Entry>,
  most: number,
  weightOf: (entry: Entry) => number,
): Cut {
  const ranked = entries
    .filter((entry) => !out.has(entry) && entry.kind !== "container")
    .map((entry, at) => ({ entry, at, weight: weightOf(entry) }))
    .sort((one, other) => other.weight - one.weight || one.at - other.at);
  const kept = new Set<Entry>();
  let room = most - NOTE;
  for (const { entry } of ranked) {
    const needed = withHolders(entry).filter((each) => !kept.has(each));
    let size = 0;
    // Not by `reduce`: of old libraries there are some that have another in its place.
    for (const each of needed) size += costOf(each);
    if (size > room) continue;
    room -= size;
    for (const each of needed) kept.add(each);
  }
  return { kept: entries.filter((entry) => kept.has(entry)), left: leftOut(entries, kept) };
}

function listsOf(entries: readonly Entry[]): Entry[][][] {
  const lists = new Map<Element, Entry[][]>();
  for (const entry of entries) {
    for (let at = entry.item; at; at = at.outer) {
      const items = lists.get(at.list) ?? [];
      lists.set(at.list, items);
      const item = items[at.number] ?? [];
      items[at.number] = item;
      item.push(entry);
    }
  }
  // An item that shows nothing leaves a hole.
  return [...lists.values()].map((items) => items.filter(Boolean));
}

/** Something may be left out of any container: there must be room to say so. */
function costOf(entry: Entry): number {
  return sizeOf(entry.text) + (entry.kind === "container" ? NOTE : 0);
}

function leftOut(entries: readonly Entry[], kept: ReadonlySet<Entry>): Map<Entry | null, number> {
  const left = new Map<Entry | null, number>();
  for (const entry of entries) {
    if (kept.has(entry) || entry.kind === "container") continue;
    let holder = entry.holder;
    while (holder && !kept.has(holder)) holder = holder.holder;
    left.set(holder, (left.get(holder) ?? 0) + 1);
  }
  return left;
}

function withHolders(entry: Entry): Entry[] {
  const all = [entry];
  for (let at = entry.holder; at; at = at.holder) all.push(at);
  return all;
}
