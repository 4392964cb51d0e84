/** Whether the audit is as it was written, and what to keep elsewhere so that this can be told later. */

import type { AuditHead, AuditVerified } from "@pollux/protocol";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { present } from "../../clock";
import { door } from "../../door";
import { useDeed, useLoaded } from "../../loading";
import { several } from "../../parts/amounts";
import { CopyButton } from "../../parts/copy";
import { Icon } from "../../parts/icon";
import { Clock } from "../../parts/moment";
import { Notice, Problem } from "../../parts/notice";

interface Checked extends AuditVerified {
  readonly at: string;
}

export function Check(): VNode {
  const head = useLoaded<AuditHead>("/api/agent/audit/head", {}, { every: 10_000 });
  const [checked, setChecked] = useState<Checked | null>(null);
  const deed = useDeed();
  const check = () =>
    deed.run(async () => {
      const report = await door.get<AuditVerified>("/api/agent/audit/verify");
      setChecked({ ...report, at: new Date(present()).toISOString() });
    });
  return (
    <section class="card" aria-labelledby="chain">
      <div class="row ends">
        <h2 id="chain">The chain</h2>
        <button type="button" class="primary" disabled={deed.isBusy} onClick={() => void check()}>
          {deed.isBusy ? "Verifying…" : "Verify"}
        </button>
      </div>
      <p class="faint">
        Each entry holds the hash of the one before it, and a seal. Verify reads all of them, everybody’s,
        from the first on.
      </p>
      <Problem of={deed.problem} />
      {checked && (checked.valid ? <Whole checked={checked} /> : <Broken checked={checked} />)}
      {head.value && head.value.entries !== null && head.value.head !== null && (
        <Head entries={head.value.entries} head={head.value.head} />
      )}
    </section>
  );
}

function Head({ entries, head }: { entries: number; head: string }): VNode {
  return (
    <div class="head">
      <p>
        The head, after {several(entries, "entry", "entries")}. Store it elsewhere. If history is altered, it
        no longer matches.
      </p>
      <div class="row">
        <code>{head}</code>
        <CopyButton text={`${entries} ${head}`} what="the head, with its number">
          Copy the head
        </CopyButton>
      </div>
    </div>
  );
}

function Whole({ checked }: { checked: Checked }): VNode {
  return (
    <Notice tone="good">
      <span>
        <b>The audit is whole.</b>{" "}
        {checked.entries === null ? "No entry is" : `${several(checked.entries, "entry", "entries")}, none`}{" "}
        changed, missing or moved.
      </span>
      <span>
        <Clock at={checked.at} />
      </span>
    </Notice>
  );
}

function Broken({ checked }: { checked: Checked }): VNode {
  return (
    <div class="broken" role="alert">
      <h3 class="row">
        <Icon name="failed" />
        The audit was tampered with
      </h3>
      <p>
        What stands here cannot be trusted as it is. Found at <Clock at={checked.at} />:
      </p>
      <ul>
        {checked.problems.map((problem) => (
          <li key={problem}>
            <code>{problem}</code>
          </li>
        ))}
      </ul>
      <h4>What to do</h4>
      <ol>
        <li>
          Change nothing. Copy the store, <code>audit-heads.jsonl</code> and the backups somewhere safe, as
          they are.
        </li>
        <li>Compare the head that you kept elsewhere with the entry of that number, to see since when.</li>
        <li>Export what is here, and hold it against the last good backup.</li>
        <li>
          Find out who could write to the store’s files. <code>pollux audit verify</code> says the same at the
          server’s own command line.
        </li>
      </ol>
    </div>
  );
}
