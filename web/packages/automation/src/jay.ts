/** A page that tells of itself: Jay's automation (`window.__jay.automation`), what it shows and what can be done there. */

import { hasConsequencesAsForm, isNameOf } from "./consequences";
import { isConnected, tagOf, windowOf } from "./dom";
import { asJson, withoutSecrets } from "./json";
import type { Look } from "./look";
import { isPrivate } from "./private";
import type { Secrets } from "./secrets";
import { cut } from "./text";
import type { Coordinate, Json } from "./types";
import { isOwn } from "./visible";

export interface JayItem {
  readonly coordinate: Coordinate;
  readonly element?: Element | null;
  readonly events?: readonly string[];
}

export interface JayInteraction {
  readonly refName: string;
  readonly description?: string;
  readonly items: readonly JayItem[];
}

export interface JayAutomation {
  getPageState(): { viewState?: unknown; interactions?: readonly JayInteraction[]; customEvents?: unknown };
  triggerEvent(type: string, coordinate: Coordinate, data?: unknown): unknown;
  getInteraction?(coordinate: Coordinate): unknown;
  onStateChange?(callback: (state: unknown) => void): unknown;
}

/** Told on the window when a page's automation has come after us. */
export const JAY_READY = "jay:automation-ready";

export function jayOf(page: Document): JayAutomation | null {
  try {
    const view = windowOf(page) as unknown as { __jay?: { automation?: JayAutomation } } | null;
    const automation = view?.__jay?.automation;
    const isThere =
      typeof automation?.getPageState === "function" && typeof automation.triggerEvent === "function";
    return isThere ? automation : null;
  } catch {
    return null;
  }
}

/** The interactions, those of the chat itself apart. */
export function interactionsOf(jay: JayAutomation): JayInteraction[] {
  const given = stateOf(jay).interactions;
  if (!Array.isArray(given)) return [];
  const found: JayInteraction[] = [];
  for (const interaction of given as readonly JayInteraction[]) {
    if (typeof interaction?.refName !== "string" || !Array.isArray(interaction.items)) continue;
    const items = interaction.items.filter(
      (item) => isCoordinate(item?.coordinate) && !(item.element && isOwn(item.element)),
    );
    if (items.length > 0) found.push({ ...interaction, items });
  }
  return found;
}

/** What the page says of itself, as data: `viewState` and `interactions` of a page's state. */
export function toldBy(
  jay: JayAutomation,
  secrets: Secrets,
  look: Look,
): { viewState?: Json; interactions?: Json } {
  const viewState = withoutSecrets(asJson(stateOf(jay).viewState), secrets);
  const interactions = interactionsOf(jay).map(({ refName, description, items }) => ({
    refName,
    ...(description ? { description: String(description) } : {}),
    items: items.map((item) => ({
      coordinate: [...item.coordinate],
      events: [...(item.events ?? [])],
      ...marksOf(item, refName, look),
    })),
  }));
  return {
    ...(viewState === undefined ? {} : { viewState }),
    interactions: asJson(interactions) ?? [],
  };
}

interface Marks {
  readonly private?: true;
  readonly name?: string;
  readonly consequential?: true;
}

/** What the server must know to ask about it: it is filled in, or pressed. */
export function marksOf({ element, coordinate, events }: JayItem, refName: string, look: Look): Marks {
  if (!element || !isConnected(element)) {
    // What cannot be seen is known by what the page's code calls it.
    const isFilled = events?.some((event) => event === "input" || event === "change");
    const name = [refName, coordinate.at(-1) ?? ""].find(isNameOf);
    return name && !isFilled ? { name: cut(name, 60), consequential: true } : {};
  }
  const isConsequential =
    tagOf(element) === "form"
      ? hasConsequencesAsForm(element as HTMLFormElement, look)
      : look.consequence(element) === "press";
  if (!isConsequential && !isPrivate(element)) return {};
  const name = cut(look.withoutSecrets(look.name(element)), 60);
  return {
    ...(isPrivate(element) && { private: true }),
    ...(name && { name }),
    ...(isConsequential && { consequential: true }),
  };
}

function stateOf(jay: JayAutomation): ReturnType<JayAutomation["getPageState"]> {
  try {
    return jay.getPageState() ?? {};
  } catch {
    // Between two pages there is nothing to tell of.
    return {};
  }
}

function isCoordinate(value: unknown): value is Coordinate {
  return Array.isArray(value) && value.length > 0 && value.every((step) => typeof step === "string");
}
