/**
 * A tool for each thing that a Jay page lets its visitors do: `click-add-to-cart`, `fill-email`, `toggle-gift`. Where
 * there are many of a kind the tool asks which; a coordinate that is not there is refused, never replaced by another.
 */

import { isConnected, isInEditable, isMatch, tagOf } from "./dom";
import type { JayAutomation, JayInteraction, JayItem } from "./jay";
import { interactionsOf } from "./jay";
import { isPrivate } from "./private";
import type { PageTool } from "./tools";
import type { Json, Outcome } from "./types";

export type Verb = "click" | "fill" | "toggle";

/** How an element is acted upon: by the same means as everything else on the page. */
export type Act = (verb: Verb, element: Element, value: string, signal?: AbortSignal) => Promise<Outcome>;

const MOST_CHOICES = 100;

export function jayTools(jay: JayAutomation, act: Act): PageTool[] {
  const names = new Set<string>();
  const tools: PageTool[] = [];
  for (const interaction of interactionsOf(jay)) {
    for (const verb of verbsOf(interaction)) {
      const name = freeName(`${verb}-${kebab(interaction.refName)}`, names);
      if (name) tools.push(semanticTool(jay, interaction, verb, name, act));
    }
  }
  return tools;
}

/** `addToCart`, `add_to_cart` and `AddToCart` are all `add-to-cart`. */
export function kebab(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, "$1-$2")
    .replace(/[^A-Za-z0-9]+/g, "-")
    .replace(/^-|-$/g, "")
    .toLowerCase();
}

function semanticTool(
  jay: JayAutomation,
  given: JayInteraction,
  verb: Verb,
  name: string,
  act: Act,
): PageTool {
  const items = given.items.filter((item) => verbOf(item) === verb);
  return {
    definition: {
      name,
      description: (given.description || `${WORDS[verb]} ${given.refName}`).slice(0, 500),
      inputSchema: schemaOf(items, verb),
      category: "page-automation",
    },
    execute: async (args, signal) => {
      // Asked for anew: since it was offered, the page may have changed.
      const now = interactionsOf(jay).find(({ refName }) => refName === given.refName);
      const item = chosen(now?.items.filter((each) => verbOf(each) === verb) ?? [], args.coordinate);
      if (typeof item === "string") return { ok: false, error: `${name}: ${item}` };
      const value = verb === "fill" ? String(args.value ?? "") : "";
      if (item.element && isConnected(item.element)) return act(verb, item.element, value, signal);
      return triggered(jay, verb, item, value, name);
    },
  };
}

const WORDS: { readonly [verb in Verb]: string } = { click: "Click on", fill: "Fill in", toggle: "Switch" };

function schemaOf(items: readonly JayItem[], verb: Verb): { readonly [name: string]: Json } {
  const properties: { [name: string]: Json } = {};
  const required: string[] = [];
  // Of a private one the server must learn what it is: it asks the visitor first.
  if (items.length > 1 || items.some(({ element }) => element && isPrivate(element))) {
    const choices = [...new Set(items.map(({ coordinate }) => coordinate.join("/")))];
    const isShort = choices.length <= MOST_CHOICES;
    const description = isShort ? "Which one" : `Which one, such as ${choices.slice(0, 5).join(", ")}`;
    properties.coordinate = { type: "string", description, ...(isShort ? { enum: choices } : {}) };
    required.push("coordinate");
  }
  if (verb === "fill") {
    const options = optionsOf(items);
    properties.value = { type: "string", ...(options.length > 0 ? { enum: options } : {}) };
    required.push("value");
  }
  return { type: "object", properties, required, additionalProperties: false };
}

/** The item that is meant, or why none is. */
function chosen(items: readonly JayItem[], coordinate: Json | undefined): JayItem | string {
  const [first, second] = items;
  if (!first) return "this is no longer on the page";
  if (coordinate === undefined) return second ? "say which one by its coordinate" : first;
  const wanted = Array.isArray(coordinate) ? coordinate.join("/") : String(coordinate);
  const there = items.filter((item) => item.coordinate.join("/") === wanted);
  if (there.length === 1 && there[0]) return there[0];
  const near = items.slice(0, 10).map((item) => item.coordinate.join("/"));
  return there.length > 1
    ? `${there.length} are at ${JSON.stringify(wanted)}: it cannot be said which is meant`
    : `there is none at ${JSON.stringify(wanted.slice(0, 100))}. There are ${near.join(", ")}${items.length > 10 ? ", …" : ""}`;
}

async function triggered(
  jay: JayAutomation,
  verb: Verb,
  item: JayItem,
  value: string,
  name: string,
): Promise<Outcome> {
  try {
    await jay.triggerEvent(
      verb === "fill" ? "input" : verb === "toggle" ? "change" : "click",
      item.coordinate,
      value,
    );
    return { ok: true, did: `${name} at ${item.coordinate.join("/")}`, changed: [] };
  } catch {
    return { ok: false, error: `${name} failed in the page` };
  }
}

function verbsOf(interaction: JayInteraction): Verb[] {
  return [...new Set(interaction.items.map(verbOf))];
}

function verbOf({ element, events }: JayItem): Verb {
  if (element && isMatch(element, "input[type=checkbox], input[type=radio], [role=checkbox], [role=switch]"))
    return "toggle";
  if (
    element &&
    isMatch(element, "input:not([type=button], [type=submit], [type=reset], [type=image]), textarea, select")
  )
    return "fill";
  if (element && isInEditable(element)) return "fill";
  const isFilled =
    !element && events?.some((event) => event === "input" || event === "change") && !events.includes("click");
  return isFilled ? "fill" : "click";
}

function optionsOf(items: readonly JayItem[]): string[] {
  const selects = items
    .map(({ element }) => element)
    .filter((element) => element && tagOf(element) === "select");
  if (selects.length !== items.length) return [];
  const values = selects.flatMap((select) =>
    [...(select as HTMLSelectElement).options].map((option) => option.value),
  );
  return [...new Set(values.filter(Boolean))].slice(0, MOST_CHOICES);
}

function freeName(wanted: string, taken: Set<string>): string {
  const base = wanted.slice(0, 60);
  for (let number = 1; number < 10; number++) {
    const name = number === 1 ? base : `${base}-${number}`;
    if (taken.has(name)) continue;
    taken.add(name);
    return name;
  }
  return "";
}
