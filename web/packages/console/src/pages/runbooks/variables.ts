/** What a document wants to be told before it runs: choices, and variables that it names but does not set. */

import type { BlockView, RunbookRunView } from "@pollux/protocol";
import { written } from "./kinds";

export interface Choice {
  readonly label: string;
  readonly value: string;
}

export interface Wanted {
  readonly name: string;
  /** What can be chosen; null where anything can be written. */
  readonly choices: readonly Choice[] | null;
  /** What it is if nobody says anything. */
  readonly value: string;
  /** Whether nothing runs without it. */
  readonly isNeeded: boolean;
  readonly hint: string;
}

const NAMED = /\bvar\s*(?:\.\s*([A-Za-z_]\w*)|\[\s*['"]([A-Za-z_]\w*)['"]\s*\])/g;
const LOCAL_DIRECTORY = "local_directory";

/** Everything that the document asks for, each once, in the order in which it does. */
export function wantedBy(blocks: readonly BlockView[]): Wanted[] {
  const found = new Map<string, Wanted>();
  for (const block of blocks) {
    const wanted = block.runs ? ofBlock(block) : null;
    if (wanted && !found.has(wanted.name)) found.set(wanted.name, wanted);
  }
  const set = setBy(blocks);
  for (const name of namedIn(blocks)) {
    if (!found.has(name) && !set.has(name))
      found.set(name, {
        name,
        choices: null,
        value: "",
        isNeeded: false,
        hint: "named in a template; a block that needs it stops without it",
      });
  }
  return [...found.values()];
}

const UNDEFINED = /`var(?:\.(\w+)|\[['"](\w+)['"]\])` is undefined|--var (\w+)=|(`shellquote`) needs a value/;

/** What a run wants to be told that stopped since a value was missing: that one, and what else the same block names. */
export function missingIn(run: RunbookRunView, blocks: readonly BlockView[]): Wanted[] {
  const at = run.blocks.find((block) => block.state === "next");
  const found = run.state === "failed" && at ? UNDEFINED.exec(run.error) : null;
  if (!at || !found) return [];
  const missing = found[1] ?? found[2] ?? found[3];
  const index = blocks.findIndex((block) => block.id === at.id);
  const set = setBy(blocks.slice(0, Math.max(index, 0)));
  const wanted = wantedBy(blocks.filter((block) => block.id === at.id)).filter(
    ({ name }) => name !== missing && !set.has(name),
  );
  const others = wanted.map((each) => ({ ...each, isNeeded: false, hint: "empty: as it was given before" }));
  if (!missing) return others;
  const choices = wantedBy(blocks).find(({ name }) => name === missing)?.choices ?? null;
  const hint = "the run stopped since it was missing";
  return [{ name: missing, choices, value: "", isNeeded: true, hint }, ...others];
}

/** Variables that the document sets itself, or that a block of it brings. */
export function setBy(blocks: readonly BlockView[]): Set<string> {
  const names = blocks.flatMap((block) => {
    switch (block.type) {
      case "var":
      case "local-var":
      case "dropdown":
        return [written(block, "name")];
      case "editor":
        return [written(block, "variableName")];
      case "script":
        return [written(block, "outputVariable")];
      default:
        return [];
    }
  });
  return new Set(names.filter(Boolean));
}

function ofBlock(block: BlockView): Wanted | null {
  const name = written(block, "name");
  if (block.type === "dropdown" && name) {
    const value = written(block, "value");
    return { name, choices: choicesOf(block), value, isNeeded: !value, hint: "a choice of the document" };
  }
  if (block.type === "local-var" && name)
    return { name, choices: null, value: "", isNeeded: true, hint: "yours; it is never in the document" };
  if (block.type === "local-directory" && !written(block, "path"))
    return {
      ...{ name: name || LOCAL_DIRECTORY, choices: null, value: "", isNeeded: true },
      hint: "a directory of the server",
    };
  return null;
}

function choicesOf(block: BlockView): Choice[] | null {
  const kind = written(block, "optionsType") || "fixed";
  if (kind !== "fixed") return null;
  const text = written(block, "fixedOptions") || written(block, "options");
  const delimiter = written(block, "delimiter") || ":";
  const parts = text.split(/,\s*|\r?\n/).map((part) => part.trim());
  const choices = parts.filter(Boolean).map((part) => {
    const at = part.indexOf(delimiter);
    return at < 0
      ? { label: part, value: part }
      : { label: part.slice(0, at), value: part.slice(at + delimiter.length) };
  });
  return choices.length > 0 ? choices : null;
}

function namedIn(blocks: readonly BlockView[]): string[] {
  const text = JSON.stringify(blocks.filter((block) => block.runs).map((block) => block.props));
  return [...text.replaceAll('\\"', '"').matchAll(/\{[{%](.*?)[}%]\}/g)].flatMap(([, inside = ""]) =>
    [...inside.matchAll(NAMED)].map(([, dotted, quoted]) => dotted ?? quoted ?? ""),
  );
}
