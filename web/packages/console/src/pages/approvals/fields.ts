/** Arguments as the fields of a form, and back. What fits no plain field is written as JSON. */

type Args = { readonly [name: string]: unknown };

export type Kind = "line" | "text" | "number" | "switch" | "lines" | "json";

export interface Field {
  readonly name: string;
  readonly kind: Kind;
  /** As it stands in the form: a switch that is on holds something. */
  readonly text: string;
}

/** What is wrong with what was typed, by the name of its field. */
export class Mistyped extends Error {
  constructor(
    readonly field: string,
    message: string,
  ) {
    super(message);
  }
}

const LONGEST_LINE = 80;

export function fieldsOf(args: Args): Field[] {
  return Object.entries(args).map(([name, value]) => {
    const kind = kindOf(value);
    return { name, kind, text: written(value, kind) };
  });
}

/** The arguments that the form says. Throws Mistyped. */
export function argsOf(fields: readonly Field[]): { [name: string]: unknown } {
  return Object.fromEntries(fields.map((field) => [field.name, read(field)]));
}

function kindOf(value: unknown): Kind {
  if (typeof value === "string") return value.includes("\n") || value.length > LONGEST_LINE ? "text" : "line";
  if (typeof value === "number") return "number";
  if (typeof value === "boolean") return "switch";
  // What has lines of its own, or blanks at its ends, would not come back as it was.
  const isLines = Array.isArray(value) && value.every((item) => typeof item === "string" && isOneLine(item));
  return isLines ? "lines" : "json";
}

function isOneLine(text: string): boolean {
  return text !== "" && text === text.trim() && !/[\r\n]/.test(text);
}

function written(value: unknown, kind: Kind): string {
  switch (kind) {
    case "line":
    case "text":
    case "number":
      return String(value);
    case "switch":
      return value ? "on" : "";
    case "lines":
      return (value as string[]).join("\n");
    case "json":
      return JSON.stringify(value, null, 2);
  }
}

function read({ name, kind, text }: Field): unknown {
  switch (kind) {
    case "line":
    case "text":
      return text;
    case "switch":
      return text !== "";
    case "lines":
      return text
        .split("\n")
        .map((line) => line.trim())
        .filter(Boolean);
    case "number": {
      const value = Number(text);
      if (text.trim() && Number.isFinite(value)) return value;
      throw new Mistyped(name, "This has to be a number.");
    }
    case "json":
      try {
        return JSON.parse(text);
      } catch {
        throw new Mistyped(name, "This has to be JSON.");
      }
  }
}
