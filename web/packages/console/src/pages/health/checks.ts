/** What the server says of itself, judged: good, to be looked at, or bad, and what to do then. */

import type { HealthView } from "@pollux/protocol";
import { count, several } from "../../parts/amounts";
import { linkTo } from "../../place";

export type Level = "good" | "warn" | "bad";

export interface Check {
  readonly name: string;
  readonly level: Level;
  readonly found: string;
  /** What to do, where there is something to do. */
  readonly todo?: string;
  readonly link?: { readonly label: string; readonly href: string };
}

/** Counted up to here: there may be more. */
const MOST = 100;
const STORES: Readonly<Record<string, string>> = {
  sqlite: "SQLite, a file on the server",
  postgres: "PostgreSQL",
  memory: "memory: it is gone when the server stops",
};

export function checksOf(health: HealthView): Check[] {
  return [
    server(health),
    store(health),
    model(health),
    workers(health),
    pending(health),
    unknown(health),
    audit(health),
    google(health),
    runbooks(health),
  ];
}

/** The worst of them. */
export function worst(checks: readonly Check[]): Level {
  const levels = checks.map(({ level }) => level);
  return levels.includes("bad") ? "bad" : levels.includes("warn") ? "warn" : "good";
}

function server({ version, uptimeSeconds, draining }: HealthView): Check {
  const found = `Pollux ${version}, running for ${uptime(uptimeSeconds)}`;
  if (!draining) return { name: "Server", level: "good", found };
  return {
    ...{ name: "Server", level: "warn", found: `${found}, and stopping now` },
    todo: "It takes no new work. Runs go on when it, or another one, is started.",
  };
}

function store({ store: { kind, writable } }: HealthView): Check {
  const found = STORES[kind] ?? kind;
  if (!writable) {
    return {
      ...{ name: "Store", level: "bad", found: `${found}. It cannot be written` },
      todo: "Nothing can be done or approved until it can. Look for a full disk, missing rights or a database that is down; `pollux doctor` says more.",
    };
  }
  if (kind !== "memory") return { name: "Store", level: "good", found };
  return {
    ...{ name: "Store", level: "warn", found },
    todo: "Set POLLUX_STORE to a file or a postgresql:// address to keep it.",
  };
}

function model({ model: name, provider, missingKey, profiles }: HealthView): Check {
  const by = provider ? ` (${provider})` : "";
  const named = `${name}${by}; ${several(profiles.length, "profile")}: ${profiles.join(", ")}`;
  if (name && missingKey) return { name: "Model", level: "bad", found: named, todo: missingKey };
  if (name) return { name: "Model", level: "good", found: named };
  return {
    name: "Model",
    level: "bad",
    found: "none",
    todo: "Name one in the profile, or leave it out for the usual one.",
  };
}

function workers({ workers: alive }: HealthView): Check {
  if (alive === null)
    return { name: "Workers", level: "good", found: "none needed: this server works on its runs itself" };
  if (alive > 0) return { name: "Workers", level: "good", found: `${several(alive, "worker")} alive` };
  return {
    ...{ name: "Workers", level: "good", found: "none alive: the servers work on the runs themselves" },
    todo: "Start `pollux worker` to take that off them.",
  };
}

function pending({ pending: waiting }: HealthView): Check {
  const link = { label: "To the approvals", href: linkTo("approvals") };
  if (waiting === 0) return { name: "Approvals", level: "good", found: "nothing waits for you" };
  return {
    ...{
      name: "Approvals",
      level: "warn",
      found: `${counted(waiting, "question waits", "questions wait")} for you`,
    },
    ...{ todo: "Each is about something that is not done until you answer.", link },
  };
}

function unknown({ unknown: unsure }: HealthView): Check {
  const link = { label: "To the unknown outcomes", href: linkTo("unknown") };
  if (unsure === 0) return { name: "Unknown outcomes", level: "good", found: "none" };
  const found = `nobody knows whether ${counted(unsure, "action", "actions")} happened`;
  return {
    ...{ name: "Unknown outcomes", level: "bad", found },
    ...{ todo: "Look where it would show, and say what you found.", link },
  };
}

function audit({ audit: { entries, head } }: HealthView): Check {
  const link = { label: "Verify it", href: linkTo("audit") };
  if (entries === null || head === null) return { name: "Audit", level: "good", found: "kept", link };
  return {
    ...{ name: "Audit", level: "good" },
    found: `${count(entries)} ${entries === 1 ? "entry" : "entries"}, head ${head.slice(0, 12)}…`,
    link,
  };
}

function google({ google: { configured, connected } }: HealthView): Check {
  const link = { label: "To the Google account", href: linkTo("google") };
  if (connected) return { name: "Google", level: "good", found: "your account is connected", link };
  if (configured)
    return { name: "Google", level: "good", found: "accounts can be connected; yours is not", link };
  return { name: "Google", level: "good", found: "not set up here; it is not needed", link };
}

function runbooks({ runbooks: served }: HealthView): Check {
  if (served)
    return {
      name: "Runbooks",
      level: "good",
      found: "served",
      link: { label: "To the runbooks", href: linkTo("runbooks") },
    };
  return {
    name: "Runbooks",
    level: "good",
    found: "not served here; `[runbooks] folder` in the settings would",
  };
}

function counted(value: number, one: string, many: string): string {
  return value >= MOST ? `${MOST} or more ${many}` : several(value, one, many);
}

export function uptime(seconds: number): string {
  const minutes = Math.floor(seconds / 60);
  if (minutes < 1) return several(Math.floor(seconds), "second");
  if (minutes < 60) return several(minutes, "minute");
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${several(hours, "hour")} ${several(minutes % 60, "minute")}`;
  return several(Math.floor(hours / 24), "day");
}
