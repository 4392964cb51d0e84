/** What a field of some kind can hold, found out without touching it. */

import { attributeOf, created, ownerOf } from "../dom";
import { natives } from "../natives";
import { Refusal } from "./refusal";

const FORMS: Readonly<Record<string, string>> = {
  date: "a date such as 2031-04-09",
  time: "a time such as 14:30",
  "datetime-local": "a date and time such as 2031-04-09T14:30",
  month: "a month such as 2031-04",
  week: "a week such as 2031-W15",
  color: "a colour such as #3366cc",
  number: "a number",
  range: "a number",
};

/** The value as the field will hold it. Throws a Refusal saying what it takes. */
export function fitting(input: HTMLInputElement, value: string): string {
  const form = FORMS[input.type];
  if (!form) return value;
  if (value === "" && input.type !== "range" && input.type !== "color") return value;
  const probe = created(ownerOf(input), "input");
  probe.type = input.type;
  for (const name of ["min", "max", "step"]) {
    const bound = attributeOf(input, name);
    if (bound !== null) probe.setAttribute(name, bound);
  }
  natives().setValue(probe, value.trim());
  const held = natives().value(probe);
  if (!isSame(input.type, held, value.trim())) {
    throw new Refusal(`it takes ${form}${bounds(input)}, found "${value.slice(0, 60)}"`);
  }
  if (probe.validity.rangeUnderflow || probe.validity.rangeOverflow)
    throw new Refusal(`it takes ${form}${bounds(input)}, found "${value.slice(0, 60)}"`);
  return held;
}

/** What it holds may be written otherwise: `14:30` and `14:30:00`, `#36C` never. */
function isSame(type: string, held: string, value: string): boolean {
  if (held === "") return false;
  if (type === "color") return held.toLowerCase() === value.toLowerCase();
  if (type === "number" || type === "range") return Number(held) === Number(value);
  return true;
}

function bounds(input: HTMLInputElement): string {
  const told = [
    input.min && `from ${input.min}`,
    input.max && `to ${input.max}`,
    input.step && input.step !== "any" && `in steps of ${input.step}`,
  ].filter(Boolean);
  return told.length ? ` ${told.join(" ")}` : "";
}
