/** A document's blocks as they stand. Agents have a panel; one more can be added behind any of them. */

import type { BlockView, DocumentView, RunbookSettings } from "@pollux/protocol";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { door } from "../../door";
import { useDeed } from "../../loading";
import { Icon } from "../../parts/icon";
import { Empty, Problem } from "../../parts/notice";
import { say } from "../../parts/said";
import { freeName, newId, withAgent } from "./adding";
import { AgentPanel } from "./agent/panel";
import { BlockCard } from "./block-card";
import { nameOf } from "./kinds";
import { bodyOf, Prose } from "./prose";

interface Props {
  readonly document: DocumentView;
  readonly settings: RunbookSettings | null;
  readonly onSaved: (document: DocumentView) => void;
  readonly onReload: () => void;
}

export function DocumentBlocks({ document, settings, onSaved, onReload }: Props): VNode {
  const [open, setOpen] = useState<string | null>(null);
  const deed = useDeed();
  const add = async (after = "") => {
    if (!settings) return;
    const agent = {
      ...{ id: newId(), name: freeName(document.blocks), timeout: settings.defaultTimeout },
      capabilities: settings.defaultCapabilities,
    };
    const isDone = await deed.run(async () => {
      const source = withAgent(document, agent, after);
      if (source === null) throw new Error("there is no plain place in this document");
      const query = new URLSearchParams({ path: document.path });
      onSaved(
        await door.put<DocumentView>(`/api/runbooks/documents?${query}`, { source, digest: document.digest }),
      );
    });
    if (!isDone) return;
    say("Added. It begins as the settings say.");
    setOpen(agent.id);
  };
  const canAdd = document.editable && settings !== null && withAgent(document, PROBE) !== null;
  const toggle = (block: BlockView) => setOpen(open === block.id ? null : block.id);
  return (
    <section class="stack block-list" aria-labelledby="blocks">
      <h2 id="blocks" class="unseen">
        Blocks
      </h2>
      {document.blocks.length === 0 && <Empty>It has no blocks.</Empty>}
      {bodyOf(document).map((block) =>
        block.runs ? (
          <BlockCard
            key={block.id}
            block={block}
            written={block}
            deeds={
              <>
                {canAdd && block.depth === 0 && (
                  <button
                    type="button"
                    class="plain"
                    title="Add an agent after it"
                    aria-label={`Add an agent after ${nameOf(block)}`}
                    disabled={deed.isBusy}
                    onClick={() => void add(block.id)}
                  >
                    <Icon name="plus" />
                  </button>
                )}
                {block.agent && (
                  <button
                    type="button"
                    aria-expanded={open === block.id}
                    aria-label={`Configure ${nameOf(block)}`}
                    onClick={() => toggle(block)}
                  >
                    <Icon name="edit" />
                    Configure
                  </button>
                )}
              </>
            }
          >
            {block.agent && open === block.id && settings && (
              <AgentPanel
                {...{ document, block, settings, onSaved, onReload }}
                onClose={() => setOpen(null)}
              />
            )}
          </BlockCard>
        ) : (
          <Prose key={block.id} block={block} />
        ),
      )}
      <Problem of={deed.problem} again={onReload} />
      {canAdd && (
        <button type="button" class="more" disabled={deed.isBusy} onClick={() => void add()}>
          <Icon name="plus" />
          Add an agent
        </button>
      )}
    </section>
  );
}

const PROBE = {
  ...{ id: "", name: "", timeout: 0 },
  capabilities: { readFiles: false, writeFiles: false, executeCommands: false, alwaysAllowTools: false },
};
