/** What was begun and never heard of again: nobody knows whether it happened, until a person finds out and says so. */

import type { RunView, UnknownView } from "@pollux/protocol";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { door } from "../../door";
import { useListed } from "../../loading";
import { Empty, More, Shown } from "../../parts/notice";
import { say } from "../../parts/said";
import { readUnsure } from "../../unsure";
import { Lost } from "./lost";
import { Settle, type Settlement } from "./settle";

interface Asked {
  readonly action: UnknownView;
  readonly settlement: Settlement;
}

export function Unknown(): VNode {
  const actions = useListed<UnknownView>("/api/agent/actions", {}, { every: 5_000 });
  const [asked, setAsked] = useState<Asked | null>(null);
  /** Settled here: gone at once, also where the list was read before. */
  const [settled, setSettled] = useState<ReadonlySet<string>>(new Set());
  const left = actions.value?.filter(({ id }) => !settled.has(id));
  const count = left?.length ?? 0;

  const settle = async ({ action, settlement }: Asked): Promise<void> => {
    const path = `/api/agent/actions/${encodeURIComponent(action.id)}/settle`;
    await door.post<RunView>(path, { outcome: settlement });
    setSettled((now) => new Set([...now, action.id]));
    setAsked(null);
    say(settlement === "done" ? "Written down: it happened." : "Written down: it did not happen.");
    actions.again();
    void readUnsure();
  };
  const leave = () => {
    setAsked(null);
    // Somebody else may have settled it.
    actions.again();
  };
  return (
    <>
      <h1>
        Unknown outcomes{" "}
        {count > 0 && (
          <span class="total">
            {count}
            {actions.hasMore && "+"}
          </span>
        )}
      </h1>
      <p class="lead">
        These were begun, and then something broke: they may have happened or not. Nothing of it is tried
        again by itself. Look where it would show, then say what you found.
      </p>
      <Shown of={actions}>
        {() =>
          count === 0 ? (
            <Empty>
              Everything that was begun has come to a known end. What is cut off in the midst, and cannot be
              looked up or safely repeated, would stand here.
            </Empty>
          ) : (
            <ul class="asks">
              {left?.map((action) => (
                <Lost
                  key={action.id}
                  action={action}
                  onSettle={(settlement) => setAsked({ action, settlement })}
                />
              ))}
            </ul>
          )
        }
      </Shown>
      <More {...actions} />
      {asked && <Settle {...asked} onSettle={() => settle(asked)} onClose={leave} />}
    </>
  );
}
