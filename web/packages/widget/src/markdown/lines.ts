/** Blocks of Markdown, line by line: what a chat's answers are made of. Indented code is not; it is a paragraph. */

import { inline } from "./inline";
import { type Align, type Block, type Item, nameOf, type References, type Shape } from "./tokens";

/** Deeper than this, nobody reads it. */
const DEEPEST = 20;

const BLANK = /^\s*$/;
const FENCE = /^ {0,3}(`{3,}(?=[^`]*$)|~{3,})\s*(.*)$/;
const HEADING = /^ {0,3}(#{1,6})(?:\s+(.*?))?(?:\s+#+)?\s*$/;
const RULE = /^ {0,3}(?:(?:-[ \t]*){3,}|(?:_[ \t]*){3,}|(?:\*[ \t]*){3,})$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])( +|$)/;
const INTERRUPTING_ITEM = /^ {0,3}(?:[-*+]|1[.)]) +\S/;
const UNDERLINE = /^ {0,3}(=+|-+)\s*$/;
const DELIMITERS = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;
const DEFINITION = /^ {0,3}\[([^[\]]+)\]:\s*(?:<([^<>]*)>|(\S+))(?:\s+(?:"[^"]*"|'[^']*'|\([^()]*\)))?\s*$/;

/** A block and the line after it. */
type Read = readonly [shape: Shape, end: number];

/** The blocks of a text. Those of `raw` joined are the text again. */
export function blocks(source: string, references: References): Block[] {
  const lines = source.split("\n");
  return shapes(lines, references, 0).map(([shape, start, end]) => ({
    ...shape,
    raw: lines.slice(start, end).join("\n") + (end < lines.length ? "\n" : ""),
  }));
}

/** Where all the links lead that are named anywhere in a text. */
export function referencesOf(source: string): References {
  const references = new Map<string, string>();
  for (const line of source.split("\n")) {
    const [, label, bracketed, bare] = DEFINITION.exec(line) ?? [];
    if (label && !references.has(nameOf(label))) references.set(nameOf(label), bracketed ?? bare ?? "");
  }
  return references;
}

function shapes(lines: readonly string[], references: References, depth: number): [Shape, number, number][] {
  const out: [Shape, number, number][] = [];
  let at = 0;
  let start = 0;
  while (at < lines.length) {
    if (BLANK.test(lines[at] ?? "")) {
      at += 1;
      const last = out.at(-1);
      if (last) {
        last[2] = at;
        start = at;
      }
      continue;
    }
    const [shape, end] = block(lines, at, references, depth);
    out.push([shape, start, end]);
    at = start = end;
  }
  return out;
}

function block(lines: readonly string[], at: number, references: References, depth: number): Read {
  const line = lines[at] ?? "";
  if (depth > DEEPEST) return [{ type: "plain", text: lines.slice(at).join("\n") }, lines.length];
  const fence = FENCE.exec(line);
  if (fence) return code(lines, at, fence[1] ?? "", fence[2] ?? "");
  const heading = HEADING.exec(line);
  if (heading) {
    const [, marks = "", text = ""] = heading;
    return [{ type: "heading", depth: marks.length, children: inline(text, references) }, at + 1];
  }
  if (RULE.test(line)) return [{ type: "rule" }, at + 1];
  if (QUOTE.test(line)) return quote(lines, at, references, depth);
  if (ITEM.test(line)) return list(lines, at, references, depth);
  if (isTable(lines, at)) return table(lines, at, references);
  if (DEFINITION.test(line)) return [{ type: "definition" }, at + 1];
  return paragraph(lines, at, references);
}

function code(lines: readonly string[], at: number, marks: string, language: string): Read {
  const closing = new RegExp(`^ {0,3}${marks[0]}{${marks.length},}\\s*$`);
  const indent = (lines[at] ?? "").search(/\S/);
  const found = lines.findIndex((line, index) => index > at && closing.test(line));
  const end = found < 0 ? lines.length : found;
  const inside = lines.slice(at + 1, end).map((line) => line.replace(new RegExp(`^ {0,${indent}}`), ""));
  return [{ type: "code", language, text: inside.join("\n") }, found < 0 ? end : end + 1];
}

function paragraph(lines: readonly string[], at: number, references: References): Read {
  let end = at + 1;
  while (end < lines.length && !BLANK.test(lines[end] ?? "")) {
    const underline = UNDERLINE.exec(lines[end] ?? "");
    if (underline) {
      const depth = underline[1]?.startsWith("=") ? 1 : 2;
      return [
        { type: "heading", depth, children: inline(joined(lines.slice(at, end)), references) },
        end + 1,
      ];
    }
    if (interrupts(lines, end)) break;
    end += 1;
  }
  return [{ type: "paragraph", children: inline(joined(lines.slice(at, end)), references) }, end];
}

function joined(lines: readonly string[]): string {
  return lines.map((line) => line.trim()).join("\n");
}

function interrupts(lines: readonly string[], at: number): boolean {
  const line = lines[at] ?? "";
  return (
    [FENCE, HEADING, RULE, QUOTE, INTERRUPTING_ITEM].some((form) => form.test(line)) || isTable(lines, at)
  );
}

function quote(lines: readonly string[], at: number, references: References, depth: number): Read {
  const inside: string[] = [];
  let end = at;
  for (; end < lines.length; end += 1) {
    const line = lines[end] ?? "";
    // A paragraph goes on without the mark.
    const isLazy =
      !BLANK.test(line) && !BLANK.test(inside.at(-1) ?? "") && !interrupts(lines, end) && !ITEM.test(line);
    if (!QUOTE.test(line) && !isLazy) break;
    inside.push(line.replace(QUOTE, ""));
  }
  return [{ type: "quote", blocks: shapes(inside, references, depth + 1).map(([shape]) => shape) }, end];
}

function list(lines: readonly string[], at: number, references: References, depth: number): Read {
  const marker = ITEM.exec(lines[at] ?? "")?.[2] ?? "";
  const items: Item[] = [];
  let end = at;
  let isTight = true;
  while (end < lines.length) {
    const found = itemAt(lines, end, marker);
    if (!found) break;
    const [inside, after] = itemLines(lines, end, found);
    const content = shapes(inside, references, depth + 1);
    const isLast = !itemAt(lines, after, marker);
    const isSpread = content.some(
      ([, , stop], index) => index < content.length - 1 && BLANK.test(inside[stop - 1] ?? ""),
    );
    if (isSpread || (!isLast && BLANK.test(lines[after - 1] ?? ""))) isTight = false;
    items.push(asTask(content.map(([shape]) => shape)));
    end = after;
  }
  const start = /\d/.test(marker) ? Number.parseInt(marker, 10) : null;
  return [{ type: "list", start, isTight, items }, end];
}

/** An item of the list that this marker belongs to. */
function itemAt(lines: readonly string[], at: number, marker: string): RegExpExecArray | null {
  const line = lines[at] ?? "";
  const found = ITEM.exec(line);
  return found?.[2]?.at(-1) === marker.at(-1) && !RULE.test(line) ? found : null;
}

/** The lines of one item, without their indent, and the line after them. Empty lines at its end are its own. */
function itemLines(
  lines: readonly string[],
  at: number,
  found: RegExpExecArray,
): [inside: string[], end: number] {
  const [whole, lead = "", marker = "", gap = ""] = found;
  const width = lead.length + marker.length + (gap.length >= 1 && gap.length <= 4 ? gap.length : 1);
  const indented = new RegExp(`^ {${width}}`);
  const inside = [(lines[at] ?? "").slice(Math.min(width, whole.length))];
  let end = at + 1;
  let wasBlank = BLANK.test(inside[0] ?? "");
  for (; end < lines.length; end += 1) {
    const line = (lines[end] ?? "").replace(/\t/g, "    ");
    const isBlank = BLANK.test(line);
    const isLazy = !wasBlank && !interrupts(lines, end) && !ITEM.test(line);
    if (!isBlank && !indented.test(line) && !isLazy) break;
    inside.push(line.replace(indented, ""));
    wasBlank = isBlank;
  }
  return [inside, end];
}

function asTask(blocks: readonly Shape[]): Item {
  const [first, ...rest] = blocks;
  const text = first?.type === "paragraph" ? first.children[0] : undefined;
  const mark = typeof text === "string" ? /^\[([ xX])\]\s+/.exec(text) : null;
  if (!mark || first?.type !== "paragraph" || typeof text !== "string") return { blocks };
  const children = [text.slice(mark[0].length), ...first.children.slice(1)];
  return { blocks: [{ type: "paragraph", children }, ...rest], isDone: mark[1] !== " " };
}

function isTable(lines: readonly string[], at: number): boolean {
  const [header = "", delimiters = ""] = [lines[at], lines[at + 1]];
  return (
    header.includes("|") && DELIMITERS.test(delimiters) && cells(header).length === cells(delimiters).length
  );
}

function table(lines: readonly string[], at: number, references: References): Read {
  const align = cells(lines[at + 1] ?? "").map((cell): Align => {
    const [left, right] = [cell.startsWith(":"), cell.endsWith(":")];
    return left && right ? "center" : right ? "right" : left ? "left" : "";
  });
  const row = (line: string) => {
    const found = cells(line);
    return align.map((_, index) => inline(found[index] ?? "", references));
  };
  let end = at + 2;
  while (end < lines.length && !BLANK.test(lines[end] ?? "") && !interrupts(lines, end)) end += 1;
  return [
    { type: "table", align, header: row(lines[at] ?? ""), rows: lines.slice(at + 2, end).map(row) },
    end,
  ];
}

function cells(line: string): string[] {
  const inner = line
    .trim()
    .replace(/^\|/, "")
    .replace(/(?<!\\)\|$/, "");
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replace(/\\\|/g, "|"));
}
