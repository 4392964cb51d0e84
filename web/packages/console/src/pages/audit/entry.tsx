/** One entry of the audit: in a line, and on demand every field of it. */

import type { AuditView } from "@pollux/protocol";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { Facts } from "../../parts/facts";
import { Clock } from "../../parts/moment";
import { linkTo } from "../../place";
import { entryWords, policyWords, stateWords } from "./words";

export function Entry({ entry }: { entry: AuditView }): VNode {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <li>
      <details class="entry" onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}>
        <summary>
          <span class="number">{entry.seq}</span>
          <Clock at={entry.at} />
          <span class="what">
            <b>{entryWords(entry)}</b>
            <span class="tool">{entry.toolName}</span>
            {entry.by && <span class="faint">by {entry.by}</span>}
            {entry.executionStatus && <State of={entry.executionStatus} />}
          </span>
        </summary>
        {isOpen && <Fields entry={entry} />}
      </details>
    </li>
  );
}

function Fields({ entry }: { entry: AuditView }): VNode {
  return (
    <Facts
      of={[
        ["Number", String(entry.seq)],
        ["At", <Clock key="at" at={entry.at} />],
        ["What", entryWords(entry)],
        ["User", entry.user],
        ["By", entry.by],
        ["Tool", entry.toolName],
        ["Model", entry.modelName],
        ["Policy", entry.policyDecision && policyWords(entry.policyDecision)],
        ["State", entry.executionStatus && <State key="state" of={entry.executionStatus} />],
        ["Why it failed", entry.errorCode.replaceAll("_", " ")],
        ["Message", entry.message],
        ["Begun", entry.startedAt && <Clock key="begun" at={entry.startedAt} />],
        ["Ended", entry.endedAt && <Clock key="ended" at={entry.endedAt} />],
        ["Run", entry.runId && <a href={linkTo("runs", entry.runId)}>{entry.runId}</a>],
        ["Conversation", entry.threadId && <a href={linkTo("threads", entry.threadId)}>{entry.threadId}</a>],
        ["Action", <Code key="action" of={entry.actionId} />],
        ["Approval", <Code key="approval" of={entry.approvalId} />],
        ["Digest of the arguments", <Code key="input" of={entry.inputHash} />],
        ["Entry before", <Code key="previous" of={entry.previous} />],
        ["This entry", <Code key="hash" of={entry.hash} />],
      ]}
    />
  );
}

function Code({ of: text }: { of: string }): VNode {
  return text ? <code>{text}</code> : <span class="faint">none</span>;
}

function State({ of: status }: { of: string }): VNode {
  const { tone, word } = stateWords(status);
  return <span class={`badge ${tone}`}>{word}</span>;
}
