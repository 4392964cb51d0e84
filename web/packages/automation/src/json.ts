/** What of a page's own values can be sent: plain data in bounds. Elements, functions and circles are left out. */

import type { Secrets } from "./secrets";
import type { Json } from "./types";

// As they are when this script comes: what a page puts in their place later may be anything.
const { defineProperty, keys } = Object;

const DEEPEST = 12;
const MOST_ITEMS = 200;
const MOST_MEMBERS = 200;
const LONGEST = 2_000;
const MOST_VALUES = 5_000;

/** The value as data; undefined where nothing of it is. */
export function asJson(value: unknown): Json | undefined {
  return new Copy().of(value, 0);
}

/** The same data without what stood in private fields. */
export function withoutSecrets<T extends Json | undefined>(value: T, secrets: Pick<Secrets, "without">): T;
export function withoutSecrets(value: Json | undefined, secrets: Pick<Secrets, "without">): Json | undefined {
  if (typeof value === "string") return secrets.without(value);
  if (Array.isArray(value)) return value.map((item) => withoutSecrets(item, secrets));
  if (value === null || typeof value !== "object") return value;
  const found: { [name: string]: Json } = {};
  for (const name of keys(value)) put(found, name, withoutSecrets(value[name] ?? null, secrets));
  return found;
}

class Copy {
  #left = MOST_VALUES;
  readonly #open = new Set<object>();

  of(value: unknown, depth: number): Json | undefined {
    switch (typeof value) {
      case "string":
        return value.length > LONGEST ? `${value.slice(0, LONGEST)}…` : value;
      case "number":
        return Number.isFinite(value) ? value : null;
      case "bigint":
        return value.toString();
      case "boolean":
        return value;
      case "object":
        return value === null ? null : this.#object(value, depth);
      default:
        return undefined;
    }
  }

  #object(value: object, depth: number): Json | undefined {
    if (isLive(value) || this.#open.has(value) || depth >= DEEPEST || --this.#left < 0) return undefined;
    this.#open.add(value);
    try {
      if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
      return Array.isArray(value) ? this.#array(value, depth) : this.#members(value, depth);
    } catch {
      // A getter of the page's that throws.
      return undefined;
    } finally {
      this.#open.delete(value);
    }
  }

  #array(items: readonly unknown[], depth: number): Json {
    const kept = items.slice(0, MOST_ITEMS).map((item) => this.of(item, depth + 1) ?? null);
    const more = items.length - kept.length;
    return more > 0 ? [...kept, `… ${more} more`] : kept;
  }

  #members(value: object, depth: number): Json {
    const found: { [name: string]: Json } = {};
    for (const name of keys(value).slice(0, MOST_MEMBERS)) {
      const member = this.of((value as Record<string, unknown>)[name], depth + 1);
      if (member !== undefined) put(found, name, member);
    }
    return found;
  }
}

/** Not by assignment: a member may be called `__proto__`. */
function put(members: { [name: string]: Json }, name: string, value: Json): void {
  defineProperty(members, name, { value, enumerable: true, configurable: true, writable: true });
}

/** A node or a window: what belongs to the page and not to what it says. */
function isLive(value: object): boolean {
  return (
    "nodeType" in value || "ownerDocument" in value || "postMessage" in value || "preventDefault" in value
  );
}
