/** What changed on the page, in a few lines of its outline: what came, what went, what is different. */

import { pageTitleOf } from "./dom";
import { Look } from "./look";
import { read } from "./outline";
import type { Refs } from "./refs";
import type { Secrets } from "./secrets";
import { cut } from "./text";

export interface Seen {
  readonly address: string;
  readonly title: string;
  readonly lines: readonly string[];
  /** What stands in private fields: told neither now nor when it stands there no more. */
  readonly secrets: Pick<Secrets, "without">;
}

const MOST_LINES = 10;
const LONGEST = 160;
const MOST_BYTES = 400_000;
/** What asks for attention comes first. */
const URGENT = /^(alertdialog|dialog|alert|status)\b/;
const REF = /^(e\d+) /;

/** The page as it is now. Taking it shows nothing to anybody: refs keep meaning what they meant. */
export function seen(page: Document, refs: Refs, excludes?: (element: Element) => boolean): Seen {
  const look = new Look(page, excludes);
  return {
    address: addressOf(page.location.href),
    title: pageTitleOf(page),
    lines: read(look, refs, undefined, 0, { most: MOST_BYTES }).map((line) => line.trim()),
    secrets: look.secrets,
  };
}

export function changes(before: Seen, after: Seen): string[] {
  const told: string[] = [];
  if (before.address !== after.address) told.push(`the address is now ${after.address}`);
  if (before.title !== after.title) told.push(`the title is now "${after.title}"`);
  const gone = without(before.lines, after.lines);
  const come = without(after.lines, before.lines);
  const goneByRef = new Map(gone.map((line) => [refOf(line), line]));
  const isChanged = (line: string): boolean => refOf(line) !== "" && goneByRef.has(refOf(line));
  const comeRefs = new Set(come.map(refOf));
  told.push(
    ...come.filter((line) => URGENT.test(line)).map((line) => `+ ${line}`),
    ...come.filter(isChanged).map((line) => `~ ${line}`),
    ...come.filter((line) => !URGENT.test(line) && !isChanged(line)).map((line) => `+ ${line}`),
    ...gone.filter((line) => !(refOf(line) && comeRefs.has(refOf(line)))).map((line) => `- ${line}`),
  );
  return bounded(told.map((line) => cut(after.secrets.without(before.secrets.without(line)), LONGEST)));
}

/** An address without what it carries: that is nobody's business. */
export function addressOf(href: string): string {
  try {
    const { origin, pathname, hash } = new URL(href);
    const place = origin === "null" ? "" : origin;
    return `${place}${pathname}${/[=&]/.test(hash) ? "" : hash}`;
  } catch {
    return href.split(/[?#]/)[0] ?? "";
  }
}

function bounded(lines: readonly string[]): string[] {
  if (lines.length <= MOST_LINES) return [...lines];
  const left = lines.length - (MOST_LINES - 1);
  return [...lines.slice(0, MOST_LINES - 1), `… and ${left} more changes`];
}

/** Lines that have no equal among the others. A list that is drawn anew has new refs and says the same. */
function without(lines: readonly string[], others: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const line of others) counts.set(said(line), (counts.get(said(line)) ?? 0) + 1);
  return lines.filter((line) => {
    const left = counts.get(said(line)) ?? 0;
    if (left > 0) counts.set(said(line), left - 1);
    return left === 0;
  });
}

function said(line: string): string {
  return line.replace(REF, "");
}

function refOf(line: string): string {
  return REF.exec(line)?.[1] ?? "";
}
