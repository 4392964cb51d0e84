/** Lines of a configuration file, from what was filled in. */

import type { CapabilitiesView } from "@pollux/protocol";

export interface NewAgent {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly description: string;
}

export interface NewDefaults {
  readonly model: string;
  readonly timeout: string;
  readonly rights: CapabilitiesView;
}

export const RIGHTS = ["readFiles", "writeFiles", "executeCommands", "alwaysAllowTools"] as const;

const NAME = /^\w[\w.-]{0,63}$/;

export function agentLines({ name, command, args, description }: NewAgent): string {
  // A dot would make two keys of it.
  const key = name.includes(".") ? text(name) : name;
  const lines = [`[runbooks.agents.${key}]`, `command = ${text(command)}`];
  if (args.length > 0) lines.push(`args = ${list(args)}`);
  if (description) lines.push(`description = ${text(description)}`);
  return lines.join("\n");
}

export function defaultLines({ model, timeout, rights }: NewDefaults): string {
  const held = RIGHTS.filter((name) => rights[name]);
  const runbooks = ["[runbooks]", `default_timeout = ${timeout}`, `default_capabilities = ${list(held)}`];
  return [...(model ? [`model = ${text(model)}`, ""] : []), ...runbooks].join("\n");
}

/** What would be refused, before anybody carries it to a file. */
export function faultOfAgent({ name, command }: NewAgent): string {
  if (!NAME.test(name)) return "A name is up to 64 letters, digits, “_”, “-” and “.”.";
  return command.trim() ? "" : "An agent needs a command to start.";
}

export function faultOfTimeout(timeout: string): string {
  return /^[1-9]\d{0,6}$/.test(timeout) ? "" : "A time-out is a whole number of seconds, at least 1.";
}

function list(values: readonly string[]): string {
  return `[${values.map(text).join(", ")}]`;
}

function text(value: string): string {
  // JSON's escapes are TOML's, but for these two: one may stand bare in JSON, the other is no character at all.
  const whole = value.replace(
    /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g,
    "\ufffd",
  );
  return JSON.stringify(whole).replaceAll("\u007f", "\\u007F");
}
