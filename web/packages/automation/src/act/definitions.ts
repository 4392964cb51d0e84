/** The tools as a model is told of them. */

import type { Json, ToolDefinition } from "../types";
import { WAYS_TO_SCROLL } from "./scroll";

const REF = { type: "string", description: "As in the outline: e12" };

export const DEFINITIONS: readonly ToolDefinition[] = [
  defined("click", "Click on a control of the page.", ["ref"], {
    ref: REF,
    double: { type: "boolean", description: "Click twice, where the page asks for it" },
  }),
  defined(
    "fill",
    "Put a value into a field, in place of what is there. Dates as 2031-04-09, times as 14:30, colours as #3366cc; " +
      "true or false for check boxes. Does not send the form.",
    ["ref", "value"],
    { ref: REF, value: { type: "string" } },
  ),
  defined("select", "Choose from a list, by the words that stand there.", ["ref"], {
    ref: REF,
    value: { type: "string" },
    values: {
      type: "array",
      items: { type: "string" },
      description: "Where several can be chosen: all that shall be chosen in the end",
    },
  }),
  defined("press", "Press a key.", ["key"], {
    key: { type: "string", description: "Enter, Escape, Tab, Space, ArrowDown, a, Shift+Tab, Control+a" },
    ref: { type: "string", description: "Where; else where the focus is, which is what was used last" },
  }),
  defined(
    "scroll",
    "Bring a control into view, or scroll the page, or the part of it that `ref` is in.",
    [],
    {
      ref: REF,
      to: {
        type: "string",
        enum: [...WAYS_TO_SCROLL],
        description: "Which way; without it, to `ref` itself",
      },
    },
  ),
  defined("read", "Read what the outline left out: all that is in `ref`, or on the page.", [], {
    ref: REF,
    from: { type: "integer", minimum: 0, description: "To go on, as the last line of an answer says" },
  }),
];

function defined(
  name: string,
  description: string,
  required: string[],
  properties: { [name: string]: Json },
): ToolDefinition {
  const inputSchema = { type: "object", properties, required, additionalProperties: false };
  return { name, description, inputSchema, category: "page-automation" };
}
