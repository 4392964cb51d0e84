/**
 * The page in lines: two spaces for each container, controls by their refs. Where it must be cut, what is in an open
 * dialog comes first, then what is in view, then controls, headings and text; and it is said how to read on.
 */

import { collapsed, fitted, sizeOf } from "./budget";
import { beside, openModal } from "./dialogs";
import { bodyOf, topElementOf } from "./dom";
import { type Entry, Walk } from "./entries";
import { contains } from "./frames";
import { LONGEST_LINE } from "./lines";
import { Look } from "./look";
import type { Refs } from "./refs";
import { cut, quoted } from "./text";
import { isInView } from "./visible";

export interface Outline {
  readonly lines: readonly string[];
  readonly unreachable: readonly string[];
}

export interface Bounds {
  /** Bytes of all lines together, as JSON. */
  readonly most: number;
}

/** Whoever reads on wants to read it whole. */
const LONGEST_READ = 1_000;
const WEIGHTS = { control: 3, heading: 2, container: 1, text: 1 } as const;

/** The whole page, the most important of it where it is too much. */
export function outlineOf(look: Look, refs: Refs, { most }: Bounds): Outline {
  return refs.during(look, () => {
    const modal = openModal(look);
    const walk = new Walk(look, refs);
    for (const root of modal ? [modal, ...beside(modal)] : [bodyOf(look.page) ?? topElementOf(look.page)])
      walk.from(root);
    const views = new Map<Entry, boolean>();
    const isSeen = (entry: Entry): boolean => {
      const known = views.get(entry) ?? isInView(entry.element);
      views.set(entry, known);
      return known;
    };
    const { kept, left } = fitted(
      walk.entries,
      collapsed(walk.entries, isSeen),
      most - 200,
      (entry) => (isInDialog(entry) ? 100 : 0) + (isSeen(entry) ? 10 : 0) + WEIGHTS[entry.kind],
    );
    const lines = withNotes(kept, left, refs);
    if (modal) lines.push(behind(look, modal));
    return { lines: withoutSecrets(lines, look), unreachable: walk.unreachable };
  });
}

/** What one container shows, or the page, from the given entry on: everything in order, for as long as there is room. */
export function read(
  look: Look,
  refs: Refs,
  within: Element | undefined,
  from: number,
  { most }: Bounds,
): string[] {
  return refs.during(look, () => {
    const root = within ?? bodyOf(look.page) ?? topElementOf(look.page);
    const { entries } = new Walk(look, refs, LONGEST_READ).from(root);
    const lines: string[] = [];
    let room = most - 100;
    let at = Math.max(from, 0);
    for (let entry = entries[at]; entry; entry = entries[++at]) {
      room -= sizeOf(entry.text);
      if (room < 0) break;
      lines.push(entry.text);
    }
    const more = entries.length - at;
    if (more > 0)
      lines.push(`… ${more} more: read${within ? ` ref=${refs.know(within).ref}` : ""} from=${at}`);
    return withoutSecrets(lines, look);
  });
}

/** A look at the page as the refs know it. */
export function lookAt(page: Document, excludes?: (element: Element) => boolean): Look {
  return new Look(page, excludes);
}

function withNotes(kept: readonly Entry[], left: ReadonlyMap<Entry | null, number>, refs: Refs): string[] {
  const lines: string[] = [];
  const open: Entry[] = [];
  const leave = (until: Entry | null): void => {
    for (let last = open.at(-1); last && last !== until; last = open.at(-1)) {
      const more = left.get(last);
      if (more) lines.push(note(more, last, refs));
      open.pop();
    }
  };
  for (const entry of kept) {
    leave(entry.holder);
    lines.push(entry.text);
    if (entry.kind === "container") open.push(entry);
  }
  leave(null);
  const more = left.get(null);
  if (more) lines.push(`… ${more} more on this page: read`);
  return lines;
}

function note(more: number, holder: Entry, refs: Refs): string {
  const title = refs.titleOf(holder.element);
  const inside = title ? ` in ${quoted(title, 40)}` : "";
  return `${"  ".repeat(Math.min(holder.depth + 1, 12))}… ${more} more${inside}: read ref=${refs.know(holder.element).ref}`;
}

function behind(look: Look, modal: Element): string {
  const count = look.controls().filter((each) => !contains(modal, each)).length;
  return `behind the open dialog: the rest of the page with ${count} controls, out of reach until the dialog is closed`;
}

function isInDialog(entry: Entry): boolean {
  for (let at = entry.holder; at; at = at.holder) if (/^\s*(alert)?dialog\b/.test(at.text)) return true;
  return false;
}

/** What stands in a private field is told nowhere, also where the page repeats it. */
function withoutSecrets(lines: readonly string[], look: Look): string[] {
  return lines.map((line) => cut(look.withoutSecrets(line), Math.max(line.length, LONGEST_LINE)));
}
