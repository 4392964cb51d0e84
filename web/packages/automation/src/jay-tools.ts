/**
 * A tool for each thing that a Jay page lets its visitors do: `click-add-to-cart`, `fill-email`, `toggle-gift`. Where
 * there are many of a kind the tool asks which; a coordinate that is not there is refused, never replaced by another.
 */

import { isConnected, isInEditable, isMatch, ownerOf, tagOf } from "./dom";
import type { JayAutomation, JayInteraction, JayItem } from "./jay";
import { interactionsOf, marksOf } from "./jay";
import { Look } from "./look";
import { natives } from "./natives";
import type { PageTool } from "./tools";
import type { Json, Outcome } from "./types";
import { isDisabled } from "./visible";

export type Verb = "click" | "fill" | "toggle";

/** How an element is acted upon: by the same means as everything else on the page. */
export type Act = (verb: Verb, element: Element, value: string, signal?: AbortSignal) => Promise<Outcome>;

const FILLED = "input:not([type=button], [type=submit], [type=reset], [type=image]), textarea, select";
const MOST_CHOICES = 100;

export function jayTools(jay: JayAutomation, act: Act): PageTool[] {
  const names = new Set<string>();
  const tools: PageTool[] = interactionsOf(jay).length > 0 ? [trigger(jay), fillInput(jay)] : [];
  for (const interaction of interactionsOf(jay)) {
    for (const verb of verbsOf(interaction)) {
      const name = freeName(`${verb}-${kebab(interaction.refName)}`, names);
      if (name) tools.push(semanticTool(jay, interaction, verb, name, act));
    }
  }
  return tools;
}

/** The element of the item that a call of one of these tools is about, if the page says which that is. */
export function elementFor(jay: JayAutomation, name: string, coordinate: Json | undefined): Element | null {
  const named = ({ refName, items }: JayInteraction): readonly JayItem[] =>
    GENERIC.has(name) ? items : items.filter((item) => `${verbOf(item)}-${kebab(refName)}` === name);
  const item = chosen(interactionsOf(jay).flatMap(named), coordinate);
  return typeof item !== "string" && item.element && isConnected(item.element) ? item.element : null;
}

const GENERIC: ReadonlySet<string> = new Set(["trigger-interaction", "fill-input"]);
const WHERE = { type: "string", description: "As among the interactions, its steps joined by /" };

/** Any event that the page listens for, by the page's own means. */
function trigger(jay: JayAutomation): PageTool {
  const name = "trigger-interaction";
  const properties = {
    coordinate: WHERE,
    event: { type: "string", description: "One of its events; click without it" },
  };
  return {
    definition: generic(name, "Trigger an event of one of the page's interactions.", properties, [
      "coordinate",
    ]),
    execute: async ({ coordinate, event = "click" }) => {
      const item = at(jay, coordinate);
      if (typeof item === "string") return { ok: false, error: `${name}: ${item}` };
      const events = item.events ?? [];
      if (events.length > 0 && !events.includes(String(event)))
        return { ok: false, error: `${name}: its events are ${events.slice(0, 10).join(", ")}` };
      return happened(jay, item, [String(event)], undefined, name);
    },
  };
}

/** A value into one of the page's inputs. The page hears of it by its own means. */
function fillInput(jay: JayAutomation): PageTool {
  const name = "fill-input";
  const properties = { coordinate: WHERE, value: { type: "string" } };
  const required = ["coordinate", "value"];
  return {
    definition: generic(name, "Put a value into one of the page's inputs.", properties, required),
    execute: async ({ coordinate, value = "" }) => {
      const item = at(jay, coordinate);
      if (typeof item === "string") return { ok: false, error: `${name}: ${item}` };
      const { element, events = [] } = item;
      if (element && !isMatch(element, FILLED))
        return { ok: false, error: `${name}: it takes no value. Use trigger-interaction` };
      if (element) natives().setValue(element as HTMLInputElement, String(value));
      const heard = ["input", "change"].filter((event) => events.includes(event));
      return happened(jay, item, heard.length > 0 ? heard : ["input"], String(value), name);
    },
  };
}

function generic(
  name: string,
  description: string,
  properties: { [name: string]: Json },
  required: string[],
): PageTool["definition"] {
  const inputSchema = { type: "object", properties, required, additionalProperties: false };
  return { name, description, inputSchema, category: "page-automation" };
}

/** What stands at a coordinate and can be used, or why there is nothing. */
function at(jay: JayAutomation, coordinate: Json | undefined): JayItem | string {
  const items = interactionsOf(jay).flatMap((each) => each.items);
  const item = coordinate === undefined ? "say which one by its coordinate" : chosen(items, coordinate);
  return typeof item !== "string" && item.element && isDisabled(item.element) ? "it is disabled" : item;
}

async function happened(
  jay: JayAutomation,
  { coordinate }: JayItem,
  events: readonly string[],
  value: string | undefined,
  name: string,
): Promise<Outcome> {
  try {
    for (const event of events) await jay.triggerEvent(event, coordinate, value);
    return { ok: true, did: `${name}: ${events.join(" and ")} at ${coordinate.join("/")}`, changed: [] };
  } catch {
    return { ok: false, error: `${name} failed in the page` };
  }
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
      inputSchema: schemaOf(items, given.refName, verb),
      category: "page-automation",
    },
    execute: async (args, signal) => {
      // Asked for anew: since it was offered, the page may have changed.
      const now = interactionsOf(jay).find(({ refName }) => refName === given.refName);
      const item = chosen(now?.items.filter((each) => verbOf(each) === verb) ?? [], args.coordinate);
      if (typeof item === "string") return { ok: false, error: `${name}: ${item}` };
      const value = verb === "fill" ? String(args.value ?? "") : "";
      if (item.element && isConnected(item.element)) return act(verb, item.element, value, signal);
      const event = verb === "fill" ? "input" : verb === "toggle" ? "change" : "click";
      return happened(jay, item, [event], value, name);
    },
  };
}

const WORDS: { readonly [verb in Verb]: string } = { click: "Click on", fill: "Fill in", toggle: "Switch" };

function schemaOf(items: readonly JayItem[], refName: string, verb: Verb): { readonly [name: string]: Json } {
  const properties: { [name: string]: Json } = {};
  const required: string[] = [];
  // Of a private one the server must learn what it is: it asks the visitor first.
  if (items.length > 1 || items.some((item) => mayBeAsked(item, refName))) {
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

/** Whether the server may have to ask the visitor about it. */
function mayBeAsked(item: JayItem, refName: string): boolean {
  const look = new Look(item.element ? ownerOf(item.element) : document);
  return Object.keys(marksOf(item, refName, look)).length > 0;
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

function verbsOf(interaction: JayInteraction): Verb[] {
  return [...new Set(interaction.items.map(verbOf))];
}

function verbOf({ element, events }: JayItem): Verb {
  if (element && isMatch(element, "input[type=checkbox], input[type=radio], [role=checkbox], [role=switch]"))
    return "toggle";
  if (element && isMatch(element, FILLED)) return "fill";
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
