/** One document: what it says, what it would run, and the way to run it or to change it. */

import type { DocumentView, RunbookRunItem, RunbookSettings } from "@pollux/protocol";
import { visible } from "@pollux/widget";
import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { useListed, useLoaded } from "../../loading";
import { Facts } from "../../parts/facts";
import { Icon } from "../../parts/icon";
import { More, Notice, Shown } from "../../parts/notice";
import { linkTo } from "../../place";
import { Begin } from "./begin";
import { DocumentBlocks } from "./document-blocks";
import { RunList, runsOf } from "./library";
import { linkToDocument } from "./links";
import { isNotServed } from "./not-served";
import { Source } from "./source";

export function DocumentPage({ path, isSource }: { path: string; isSource: boolean }): VNode {
  const loaded = useLoaded<DocumentView>("/api/runbooks/documents", { path });
  // What was just saved counts until it is read again.
  const [saved, setSaved] = useState<DocumentView | null>(null);
  useEffect(() => setSaved(null), [loaded.value]);
  if (isNotServed(loaded.problem))
    return (
      <>
        <h1>Runbooks</h1>
        <p>
          There is no runbook “{visible(path)}” for you here. See{" "}
          <a href={linkTo("runbooks")}>those there are</a>.
        </p>
      </>
    );
  return (
    <>
      {!loaded.value && <h1 dir="auto">{visible(path)}</h1>}
      <Shown of={{ ...loaded, value: saved ?? loaded.value }}>
        {(document) => (
          <Opened document={document} isSource={isSource} onSaved={setSaved} onReload={loaded.again} />
        )}
      </Shown>
    </>
  );
}

interface Props {
  readonly document: DocumentView;
  readonly isSource: boolean;
  readonly onSaved: (document: DocumentView) => void;
  readonly onReload: () => void;
}

function Opened({ document, isSource, onSaved, onReload }: Props): VNode {
  const settings = useLoaded<RunbookSettings>("/api/runbooks/settings");
  const runs = useListed<RunbookRunItem>("/api/runbooks/runs", {}, { every: 5_000 });
  const [isBeginning, setIsBeginning] = useState(false);
  const { path, name, error, warnings, editable, trusted } = document;
  const hazard = warnings.find((notice) => notice.isHazard);
  const history = runsOf(path, runs.value);
  const isShowingSource = isSource || Boolean(error);
  return (
    <>
      <div class="row ends">
        <h1 dir="auto">{visible(name || path)}</h1>
        <button
          type="button"
          class="primary"
          disabled={Boolean(error || hazard)}
          onClick={() => setIsBeginning(true)}
        >
          <Icon name="play" />
          Run
        </button>
      </div>
      <Facts
        of={[
          ["Document", <code>{visible(path)}</code>],
          ["Trust", trusted ? "trusted as it stands" : "nobody has trusted it as it stands"],
          ["Changes", editable ? null : "it cannot be changed here"],
        ]}
      />
      {error && <Notice tone="bad">It cannot be read: {error}</Notice>}
      {hazard && <Notice tone="bad">It is not run: {hazard.text}</Notice>}
      <Remarks of={warnings.filter((notice) => !notice.isHazard).map((notice) => notice.text)} />
      <nav class="tabs" aria-label="Views">
        <a href={linkToDocument(path)} aria-current={isShowingSource ? undefined : "page"}>
          Blocks
        </a>
        <a href={linkToDocument(path, true)} aria-current={isShowingSource ? "page" : undefined}>
          Source
        </a>
      </nav>
      {isShowingSource ? (
        <Source key={path} document={document} onSaved={onSaved} onReload={onReload} />
      ) : (
        <DocumentBlocks document={document} settings={settings.value} onSaved={onSaved} onReload={onReload} />
      )}
      {history.length > 0 && (
        <section class="stack" aria-labelledby="history">
          <h2 id="history">Runs</h2>
          <RunList runs={history} />
          <More {...runs} />
        </section>
      )}
      {isBeginning && (
        <Begin document={document} onClose={() => setIsBeginning(false)} onChanged={onReload} />
      )}
    </>
  );
}

function Remarks({ of: remarks }: { of: readonly string[] }): VNode | null {
  if (remarks.length === 0) return null;
  return (
    <details>
      <summary>{remarks.length === 1 ? "1 remark" : `${remarks.length} remarks`}</summary>
      <ul class="remarks">
        {remarks.slice(0, 50).map((text, index) => (
          <li key={index}>{text}</li>
        ))}
      </ul>
    </details>
  );
}
