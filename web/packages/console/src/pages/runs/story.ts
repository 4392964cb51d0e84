/** The journal told as a story: an entry for every fact, and how long each thing took. */

import type { Action, ActionDecided, ApprovalResolved, ModelReplied, RunStarted } from "@pollux/protocol";
import { linkTo } from "../../place";
import { documentWords, openingOf } from "./document";
import type { Entry, Fold } from "./entry";
import type { Fact } from "./journal";
import type { Span } from "./spans";
import * as words from "./words";

export interface Story {
  readonly entries: readonly Entry[];
  readonly spans: readonly Span[];
  readonly began: number;
  /** When it ended; null while it goes on. */
  readonly ended: number | null;
  /** The tools at work: action and name. */
  readonly atWork: ReadonlyMap<string, string>;
  /** Whether the model is being asked. */
  readonly isThinking: boolean;
}

export function storyOf(facts: readonly Fact[]): Story {
  const teller = new Teller();
  const entries = facts.map((fact) => teller.entry(fact));
  return {
    ...{ entries, spans: teller.spans, began: entries[0]?.at ?? 0, ended: teller.ended },
    ...{ atWork: teller.atWork, isThinking: teller.isThinking },
  };
}

type Told = Omit<Entry, "seq" | "at">;
interface OpenSpan {
  readonly kind: Span["kind"];
  readonly from: number;
  readonly tool: string;
}

class Teller {
  readonly #closed: Span[] = [];
  /** What has begun and not ended, by what it is about: an action, an approval, or the model. */
  readonly #open = new Map<string, OpenSpan>();
  readonly #actions = new Map<string, Action>();
  #driver = "";
  /** Whether a document stands in the model's place. */
  #isDocument = false;
  #began = 0;
  ended: number | null = null;

  entry(fact: Fact): Entry {
    const at = fact.data.at * 1000;
    this.#began ||= at;
    return { seq: fact.seq, at, ...this.#told(fact, at) };
  }

  get spans(): Span[] {
    return [...this.#closed, ...[...this.#open.values()].map(({ kind, from }) => ({ kind, from, to: null }))];
  }

  get atWork(): Map<string, string> {
    const open = [...this.#open].filter(([, { kind }]) => kind === "tool");
    return new Map(open.map(([id, { tool }]) => [id, tool]));
  }

  get isThinking(): boolean {
    return this.#open.has(MODEL);
  }

  #told(fact: Fact, at: number): Told {
    switch (fact.type) {
      case "RunStarted":
        return this.#started(fact.data);
      case "RunClaimed":
        return this.#claimed(fact.data.driver, fact.data.epoch, at);
      case "PageShown":
        return {
          ...{ icon: "runbooks", tone: "plain", title: "The page shows something else" },
          folds: text("What the model is told of it", fact.data.page.told),
        };
      case "ModelCalled": {
        this.#begin(MODEL, "model", at);
        const again = fact.data.attempt > 1 ? ` again, for the ${ordinal(fact.data.attempt)} time` : "";
        const title = this.#isDocument ? "The document is read on" : `The model is asked${again}`;
        return { icon: "send", tone: "plain", title };
      }
      case "ModelReplied":
        return { ...this.#replied(fact.data, at), cost: fact.cost };
      case "ModelFailed": {
        const { kind, message, retry_at } = fact.data;
        const rest =
          retry_at === null ? {} : { note: `It is asked again ${seconds(retry_at - fact.data.at)} later.` };
        return {
          ...{
            icon: "failed",
            tone: retry_at === null ? "bad" : "warn",
            took: this.#end(MODEL, at),
            ...rest,
          },
          ...{
            title: `${this.#isDocument ? "It" : "The model"} gave no answer: ${words.failureWords(kind)}`,
            quote: message,
          },
        };
      }
      case "ActionDecided":
        return this.#decided(fact.data, at);
      case "CallRefused": {
        const { code, message, connect_url } = fact.data;
        const links = connect_url ? [{ label: "Connect the account", href: linkTo("google") }] : [];
        return { icon: "failed", tone: "warn", title: words.refusalWords(code), quote: message, links };
      }
      case "ApprovalResolved":
        return this.#resolved(fact.data, at);
      case "ActionStarted": {
        const tool = this.#tool(fact.data.action_id);
        this.#begin(fact.data.action_id, "tool", at, tool);
        const again = fact.data.attempt > 1 ? ` again, for the ${ordinal(fact.data.attempt)} time` : "";
        return { icon: "wrench", tone: "plain", title: `${tool} begins${again}` };
      }
      case "ActionNoted": {
        const title = `${this.#tool(fact.data.action_id)} writes down how far it came`;
        return { icon: "edit", tone: "plain", title, folds: json("What it wrote", fact.data.note) };
      }
      case "ToolObserved": {
        const { tool, title, status } = fact.data;
        return {
          ...{
            icon: "unknown",
            tone: "warn",
            title: `The agent used ${tool || "a tool"} by itself`,
            quote: title,
          },
          ...{ note: "It did not ask, so nobody could say no.", facts: [["State", words.plain(status)]] },
        };
      }
      case "ActionHandedOver": {
        const title = `${this.#tool(fact.data.action_id)} goes on in a run of its own`;
        const links = [{ label: "The run that works on it", href: linkTo("runs", fact.childRunId) }];
        return { icon: "right", tone: "plain", title, links };
      }
      case "ActionCompleted": {
        const { action_id: id, result } = fact.data;
        const took = this.#end(id, at);
        return {
          ...{ icon: "done", tone: "good", title: `${this.#tool(id)} is done`, took },
          folds: json("Result", result),
        };
      }
      case "ActionFailed": {
        const { action_id: id, attempt, code, message, connect_url } = fact.data;
        const took = this.#end(id, at);
        const tool = this.#tool(id);
        if (code === "outcome_unknown") return { ...unknown(tool), took, quote: message };
        return {
          ...{ icon: "failed", tone: "bad", took, quote: message, facts: [["Why", words.plain(code)]] },
          title: attempt === 0 ? `${tool} was stopped before it began` : `${tool} failed`,
          links: connect_url ? [{ label: "Connect the account", href: linkTo("google") }] : [],
        };
      }
      case "ActionReconciled": {
        const { action_id: id, outcome, detail, result } = fact.data;
        const tool = this.#tool(id);
        this.#end(id, at);
        if (outcome === "unknown") return { ...unknown(tool), quote: detail };
        return outcome === "done"
          ? {
              ...{ icon: "done", tone: "good", title: `Looked up: ${tool} had happened`, quote: detail },
              folds: json("Result", result),
            }
          : { icon: "right", tone: "plain", title: `Looked up: ${tool} had not happened`, quote: detail };
      }
      case "ActionSettled": {
        const { action_id: id, outcome, by } = fact.data;
        const found = outcome === "done" ? "happened" : "did not happen";
        return {
          ...{ icon: outcome === "done" ? "done" : "failed", tone: outcome === "done" ? "good" : "still" },
          title: `${by} found out: ${this.#tool(id)} ${found}`,
        };
      }
      case "HistoryCompressed": {
        const { status, tokens_before, tokens_after, usage, compressed } = fact.data;
        return {
          ...{ icon: "save", tone: status === "compressed" ? "plain" : "warn", usage, cost: fact.cost },
          title: words.summaryWords(status),
          facts: [
            ["Tokens before", String(tokens_before)],
            ["Tokens after", String(tokens_after)],
          ],
          folds: text("The summary", compressed ? textOf(compressed.summary.parts) : ""),
        };
      }
      case "TimeReached":
        return this.#timeReached(at);
      case "CancelRequested": {
        this.#endApprovals(at);
        return { icon: "stop", tone: "still", title: words.cancelWords(fact.data.reason, fact.data.by) };
      }
      case "RunRestored":
        return {
          ...{
            icon: "unknown",
            tone: "warn",
            title: `${fact.data.by} adopted the store, which was restored from a backup`,
          },
          quote: "Actions may have been done already. From now on each one asks for approval first.",
        };
      case "RunCompleted":
        return { icon: "done", tone: "good", title: "The run is completed", took: this.#over(at) };
      case "RunFailed": {
        const { code, message, connect_url } = fact.data;
        return {
          ...{ icon: "failed", tone: "bad", title: "The run failed", took: this.#over(at), quote: message },
          facts: [["Why", words.plain(code)]],
          links: connect_url ? [{ label: "Connect the account", href: linkTo("google") }] : [],
        };
      }
      case "RunCancelled":
        return { icon: "stop", tone: "still", title: "The run has stopped", took: this.#over(at) };
      default:
        return {
          ...{ icon: "unknown", tone: "plain", title: "Something that this console does not know yet" },
          folds: json("As it was written", fact),
        };
    }
  }

  #started(start: RunStarted): Told {
    const { user, prompt, door, origin, model, profile, limits, parent, instructions, page } = start;
    const asked = textOf(prompt.parts);
    const document = openingOf(asked);
    this.#isDocument = document !== null;
    const told: readonly (readonly [string, string])[] = document
      ? [["Document", document.path]]
      : [
          ["Model", model],
          ["Profile", profile],
          ["May ask the model", `${limits.model_calls} times`],
        ];
    return {
      ...{ icon: "play", tone: "plain" },
      title: document ? `${user} ran ${documentWords(document.name)}` : `${user} asked`,
      quote: document ? "" : asked,
      facts: [
        ["Through", [words.doorWords(door), document ? "" : origin].filter(Boolean).join(" at ")],
        ...told,
      ],
      folds: [
        ...text("The document as it was then", document?.source ?? ""),
        ...text("Instructions", instructions),
        ...text("What the model is told of the page", page?.told ?? ""),
      ],
      links: parent ? [{ label: "Works for another run", href: linkTo("runs", parent.run_id) }] : [],
    };
  }

  #claimed(driver: string, epoch: number, at: number): Told {
    const isSame = driver === this.#driver;
    const isFirst = epoch === 1;
    this.#driver = driver;
    const inFlight = [...this.#open].filter(([, { kind }]) => kind !== "person");
    for (const [id] of inFlight) this.#end(id, at);
    const title = isFirst ? "Work begins" : isSame ? "Work goes on" : "Another process takes it up";
    const note =
      inFlight.length > 0 ? "What was under way may or may not have happened; it is looked up." : undefined;
    return {
      ...{ icon: "runs", tone: inFlight.length > 0 ? "warn" : "plain", title, note },
      facts: [["Process", driver]],
    };
  }

  #replied(reply: ModelReplied, at: number): Told {
    const { message, usage, reason, detail, stop } = reply;
    const isWell = stop === "end" || stop === "tool_calls";
    const calls = message.parts.flatMap((part): Fold[] =>
      part.type === "tool_call"
        ? [{ as: "arguments", label: `What ${part.name} was to get`, value: part.args }]
        : [],
    );
    return {
      ...{
        icon: "threads",
        tone: isWell ? "plain" : "warn",
        title: words.replyWords(reply, this.#isDocument),
        usage,
      },
      ...{
        took: this.#end(MODEL, at),
        quote: textOf(message.parts),
        note: isWell ? undefined : detail || reason,
      },
      folds: [...text("What it thought", thoughtOf(message.parts)), ...calls],
    };
  }

  #decided({ action, supersedes, ...event }: ActionDecided, at: number): Told {
    if (supersedes) this.#endApproval(this.#actions.get(supersedes), at);
    this.#actions.set(action.id, action);
    const { decision, approval, subjects, provenance, asker, preview, args } = action;
    if (approval) this.#begin(approval.id, "person", at, action.tool);
    const mode = decision?.mode;
    const asks = asker ? this.#tool(asker) : "";
    return {
      ...{ icon: "grants", tone: mode === "deny" ? "bad" : mode === "allow" ? "plain" : "warn" },
      ...{ title: words.decisionWords({ action, supersedes, ...event }), quote: preview },
      note: decision?.reason ? `The policy: ${decision.reason}.` : undefined,
      facts: [
        ["Rule", decision?.rule ?? ""],
        ["For", subjects.join(", ")],
        ["Words came from", provenance.map(words.sourceWords).join(", ")],
        ["Asked for by", asks],
      ],
      folds: [{ as: "arguments", label: "Exact arguments", value: args }],
      links: approval ? [{ label: "The question", href: linkTo("approvals", approval.id) }] : [],
    };
  }

  #resolved({ approval_id, decision, by, feedback, scope }: ApprovalResolved, at: number): Told {
    const tool = this.#open.get(approval_id)?.tool ?? "it";
    const scopes = {
      ...{ always: "always for these recipients", session: "for the rest of this conversation" },
      ...{ document: "always in this document", tool: "this tool for the rest of this session" },
    };
    return {
      ...{ took: this.#end(approval_id, at), quote: feedback },
      ...(decision === "approved"
        ? { icon: "done" as const, tone: "good" as const, title: `${by} approved ${tool}` }
        : { icon: "failed" as const, tone: "still" as const, title: `${by} rejected ${tool}` }),
      note: scope ? `Also ${scopes[scope]}.` : undefined,
    };
  }

  #timeReached(at: number): Told {
    const expired = [...this.#actions.values()].filter(
      ({ approval }) => approval && this.#open.has(approval.id) && at >= approval.expires_at * 1000,
    );
    for (const action of expired) this.#endApproval(action, at);
    return expired.length > 0
      ? {
          ...{ icon: "waiting", tone: "still" },
          title: `Nobody answered in time: ${words.listed(expired.map(({ tool }) => tool))} is not done`,
        }
      : { icon: "waiting", tone: "plain", title: "A moment that was waited for came" };
  }

  #tool(actionId: string): string {
    return this.#actions.get(actionId)?.tool ?? "a tool";
  }

  #begin(id: string, kind: Span["kind"], from: number, tool = ""): void {
    this.#end(id, from);
    this.#open.set(id, { kind, from, tool });
  }

  /** How long it took, if it had begun. */
  #end(id: string, to: number): number | undefined {
    const begun = this.#open.get(id);
    if (!begun) return undefined;
    this.#open.delete(id);
    this.#closed.push({ kind: begun.kind, from: begun.from, to });
    return to - begun.from;
  }

  #endApproval(action: Action | undefined, at: number): void {
    if (action?.approval) this.#end(action.approval.id, at);
  }

  #endApprovals(at: number): void {
    for (const action of this.#actions.values()) this.#endApproval(action, at);
  }

  #over(at: number): number {
    for (const id of [...this.#open.keys()]) this.#end(id, at);
    this.ended = at;
    return at - this.#began;
  }
}

const MODEL = "model";

function unknown(tool: string): Told {
  return {
    ...{ icon: "unknown", tone: "bad", title: `Nobody knows whether ${tool} happened` },
    links: [{ label: "Say what became of it", href: linkTo("unknown") }],
  };
}

type Part = ModelReplied["message"]["parts"][number];

function textOf(parts: readonly Part[]): string {
  return parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
}

function thoughtOf(parts: readonly Part[]): string {
  return parts.flatMap((part) => (part.type === "thought" ? [part.text] : [])).join("\n");
}

function text(label: string, value: string): Fold[] {
  return value ? [{ as: "text", label, value }] : [];
}

function json(label: string, value: unknown): Fold[] {
  return value === null || value === undefined ? [] : [{ as: "json", label, value }];
}

function seconds(value: number): string {
  return `${Math.max(0, value).toFixed(1)} s`;
}

function ordinal(value: number): string {
  return { 2: "second", 3: "third", 4: "fourth", 5: "fifth" }[value] ?? `${value}th`;
}
