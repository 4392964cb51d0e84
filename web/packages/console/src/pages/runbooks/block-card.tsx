/** A block that does something: what it is, how far it has come, and what it has put out. */

import type { BlockProgress, BlockView } from "@pollux/protocol";
import { visible } from "@pollux/widget";
import type { ComponentChildren, VNode } from "preact";
import { Pre } from "../../parts/arguments";
import { span, useNow } from "../../parts/moment";
import type { Place } from "./board";
import { actOf, askedBy, kindOf, nameOf } from "./kinds";
import { Output } from "./output";
import { seen } from "./seen";
import { Sign, Status } from "./sign";
import { type AgentStatus, type BlockState, wordOfBlock } from "./states";
import { ToolCalls } from "./tools";

/** How far it has come in a run. */
export interface Going {
  readonly progress: BlockProgress;
  readonly place: Place | undefined;
}

interface Props {
  readonly block: Pick<BlockView, "id" | "type" | "name">;
  /** The block as it stands in the document, where that is still the one that ran. */
  readonly written?: BlockView | undefined;
  readonly going?: Going | undefined;
  /** Buttons beside its name. */
  readonly deeds?: ComponentChildren;
  readonly children?: ComponentChildren;
}

const ACTING = ["script", "terminal", "run", "http", "sqlite", "postgres", "sub-runbook"];

export function BlockCard({ block, written, going, deeds, children }: Props): VNode {
  const kind = kindOf(block.type);
  const name = visible(nameOf(block));
  const act = written ? seen(actOf(written)) : "";
  const isFirst = !going;
  const state = going && stateOf(going);
  const asked = written && askedBy(written);
  return (
    <article class={`card block-card ${state?.state ?? ""}`} aria-label={name} data-block={block.id}>
      <header class="row ends">
        <div class="row block-title">
          <Sign name={kind.sign} />
          <h3 dir="auto">{name}</h3>
          <span class="faint block-kind">{asked ? `${kind.text}: ${asked}` : block.name && kind.text}</span>
        </div>
        <div class="row">
          {going && <Tokens going={going} />}
          {going && <Duration going={going} />}
          {state && <Status word={wordOfBlock(state.state, state.agent)} />}
          {deeds}
        </div>
      </header>
      {act && isFirst && !children && <Pre text={act} label={`What ${name} would run`} />}
      {act && !isFirst && (
        <details>
          <summary>
            {block.type === "agent"
              ? "Its prompt"
              : ACTING.includes(block.type)
                ? "What it runs"
                : "What it says"}
          </summary>
          <Pre text={act} label={`What ${name} runs`} />
        </details>
      )}
      {going?.place && <Output place={going.place} type={block.type} name={name} />}
      {going?.place && <ToolCalls place={going.place} />}
      {going && !going.place && going.progress.error && <p class="bad">{going.progress.error}</p>}
      {children}
    </article>
  );
}

/** What the stream has told of this run counts; else what the server says, which knows the earlier goes too. */
function stateOf({ progress, place }: Going): { state: BlockState; agent: AgentStatus | null } {
  if (place?.isOurs) return { state: place.state, agent: place.agent };
  return { state: progress.state, agent: progress.agent?.status ?? null };
}

function Tokens({ going: { progress, place } }: { going: Going }): VNode | null {
  const used = place?.tokens ?? progress.agent;
  if (!used || (used.inputTokens === null && used.outputTokens === null)) return null;
  const [input, output] = [used.inputTokens ?? 0, used.outputTokens ?? 0];
  return (
    <span class="token-count" title={`${input} read, ${output} written`}>
      {(input + output).toLocaleString("en")} tokens
    </span>
  );
}

function Duration({ going: { progress, place } }: { going: Going }): VNode | null {
  const seconds = place?.isOurs ? place.finished?.seconds : progress.seconds;
  const since = place?.isOurs ? place.since : progress.state === "running" && begunAt(progress);
  if (since) return <Running since={since} />;
  return typeof seconds === "number" ? <span class="faint clock">{span(seconds * 1000)}</span> : null;
}

/** Before the stream tells: as the server says. */
function begunAt({ startedAt }: BlockProgress): number {
  return Date.parse(startedAt ?? "") || 0;
}

function Running({ since }: { since: number }): VNode | null {
  const now = useNow(1000);
  const seconds = Math.floor((now - since) / 1000);
  return seconds < 1 ? null : (
    <span class="faint clock">{seconds < 60 ? `${seconds} s` : span(seconds * 1000)}</span>
  );
}
