/** A question of a run, for a person to answer: exactly what would be done, by whom, and until when. */

import type { PendingAnswer, RunbookQuestion } from "@pollux/protocol";
import { remaining, visible } from "@pollux/widget";
import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { door } from "../../door";
import { readInbox } from "../../inbox";
import { useDeed, useLoaded } from "../../loading";
import { Arguments } from "../../parts/arguments";
import { useNow } from "../../parts/moment";
import { Problem } from "../../parts/notice";
import { say } from "../../parts/said";
import { ApproveButton, useArming } from "../approvals/meant";
import { Partial } from "../approvals/whole";
import { Diff, isDiff } from "./diff";

/** For how long: whatever the arguments, or for what the question names. */
const REMEMBERED = ["tool", "session"] as const;
type Remembered = (typeof REMEMBERED)[number];

interface Props {
  readonly question: RunbookQuestion;
  /** The run under which it is answered: the document's, also where a part of it asks. */
  readonly runId: string;
  /** The block that asks, or whose agent does. */
  readonly asker: string;
  /** Where on the page it stands. A question that moves is as good as a new one: nobody aimed at it there. */
  readonly at: string;
  /** Somebody has answered, or tried to. */
  readonly onAnswered: (isDone: boolean) => void;
}

export function Question({ question: asked, runId, asker, at, onAnswered }: Props): VNode {
  const rest = useLoaded<PendingAnswer>(
    asked.truncated ? `/api/agent/approvals/${encodeURIComponent(asked.id)}` : null,
  );
  const question = withRest(asked, rest.value);
  const { id, args, byAgent, preview, reason } = question;
  const [remembered, setRemembered] = useState<Remembered | null>(null);
  const deed = useDeed();
  const arming = useArming(`${id} ${question.argsHash} ${at} ${question.truncated}`);
  const [isTooSoon, setIsTooSoon] = useState(false);
  useEffect(() => {
    if (arming.isArmed) setIsTooSoon(false);
  }, [arming.isArmed]);
  const answer = async (approved: boolean) => {
    const isDone = await deed.run(() =>
      door.post(`/api/runbooks/runs/${encodeURIComponent(runId)}/tool-approval`, {
        approvalId: id,
        approved,
        ...(approved && remembered ? { remember: true, scope: remembered } : {}),
        argsHash: question.argsHash,
      }),
    );
    if (isDone) say(approved ? "Allowed." : "Denied.");
    onAnswered(isDone);
    void readInbox();
  };
  return (
    <div class="stack tool-question">
      <p>
        <b>{byAgent ? agentOf(question, visible(asker)) : visible(asker)}</b> {asksTo(question)}
      </p>
      <What preview={preview} args={args} />
      <p class="faint">
        Asked because {visible(reason)}. <Countdown until={question.expiresAt} />
      </p>
      {byAgent &&
        REMEMBERED.filter((scope) => question.scopes.includes(scope)).map((scope) => (
          <label class="check" key={scope}>
            <input
              type="checkbox"
              checked={remembered === scope}
              onChange={({ currentTarget }) => setRemembered(currentTarget.checked ? scope : null)}
            />
            <span>{offer(question, scope)}</span>
          </label>
        ))}
      <Problem of={deed.problem} />
      <div class="row answers">
        {question.truncated ? (
          <Partial of={rest} />
        ) : (
          <ApproveButton
            {...{ arming, isPrimary: true, onTooSoon: () => setIsTooSoon(true) }}
            onMeant={() => deed.isBusy || void answer(true)}
          >
            {question.tool === "runbook_pause" ? "Go on" : "Allow"}
          </ApproveButton>
        )}
        <Press isBusy={deed.isBusy} onPress={() => void answer(false)}>
          Deny
        </Press>
        <span class="too-soon" role="status">
          {isTooSoon && "That came too soon to be meant. Look at it, then press again."}
        </span>
      </div>
    </div>
  );
}

/** A large question has only its beginning in the run. What is asked about is what was hashed, here and there. */
function withRest(asked: RunbookQuestion, answer: PendingAnswer | null): RunbookQuestion {
  const whole = answer?.approval;
  if (!asked.truncated || whole?.argsHash !== asked.argsHash) return asked;
  const { preview, args, subjects } = whole;
  return { ...asked, preview, args, subjects, truncated: false };
}

/** The change that it would make, and everything else that it was given; or only that. */
function What({ preview, args }: { preview: string; args: RunbookQuestion["args"] }): VNode {
  const { changes, ...others } = args;
  if (typeof changes === "string" && changes)
    return (
      <>
        <Diff text={changes} label="What would change" />
        <Arguments args={others} />
      </>
    );
  return (
    <>
      {isDiff(preview) && <Diff text={preview} label="What would be done" />}
      <Arguments args={args} />
    </>
  );
}

/** A second click of a double one was not meant for the next question. */
function Press(props: { isBusy: boolean; onPress: () => void; children: string }): VNode {
  return (
    <button
      type="button"
      class="danger"
      disabled={props.isBusy}
      onClick={(event) => {
        if (event.detail <= 1) props.onPress();
      }}
    >
      {props.children}
    </button>
  );
}

function Countdown({ until }: { until: string }): VNode {
  const now = useNow(1000);
  const left = Date.parse(until) - now;
  return (
    <span>
      {left > 0 ? (
        <>
          Denied by itself in <b class="clock">{remaining(left)}</b>.
        </>
      ) : (
        "Its time is over."
      )}
    </span>
  );
}

/** The agent's own name, where it has one; else the block's. */
function agentOf({ args }: RunbookQuestion, asker: string): string {
  const name = typeof args.agent === "string" ? visible(args.agent) : "";
  return name && name !== asker ? `${name} (${asker})` : `The agent of ${asker}`;
}

const DEEDS: Readonly<Record<string, string>> = {
  agent_write_file: "wants to write a file",
  agent_read_file: "wants to read a file",
  agent_terminal: "wants to run a command",
  write_file: "wants to write a file",
  run_shell_command: "wants to run a command",
  runbook_script: "would run this script",
  runbook_terminal: "would run this in a terminal",
  runbook_http: "would send this request",
  runbook_pause: "waits here",
};

function asksTo({ tool, args }: RunbookQuestion): string {
  if (tool === "agent_permission") return `wants to ${visible(String(args.kind ?? "act"))}`;
  return DEEDS[tool] ?? `asks for ${tool.replaceAll("_", " ")}`;
}

function offer(question: RunbookQuestion, scope: Remembered): string {
  const { tool, scopes, subjects } = question;
  if (scope === "tool") return `Always allow ${visible(tool)} in this session`;
  if (scopes.includes("tool"))
    return `Always allow ${visible(tool)} for ${subjects.map(visible).join(", ")} in this session`;
  return `Always allow this tool${about(question)}, until this runbook's run ends`;
}

/** All that would be allowed from now on: what is not named here is not remembered either. */
function about({ tool, subjects }: RunbookQuestion): string {
  const whom = subjects.map(visible).join(", ");
  return ` (${visible(tool)}${whom && `: ${whom}`})`;
}
