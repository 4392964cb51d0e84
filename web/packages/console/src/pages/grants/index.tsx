/** What was always allowed, and the way to take it back. */

import type { GrantView } from "@pollux/protocol";
import { visible } from "@pollux/widget";
import type { VNode } from "preact";
import { useRef } from "preact/hooks";
import { door } from "../../door";
import { useDeed, useListed } from "../../loading";
import { Id } from "../../parts/facts";
import { Moment } from "../../parts/moment";
import { Empty, More, Problem, Shown } from "../../parts/notice";
import { say } from "../../parts/said";
import { linkTo } from "../../place";

export function Grants(): VNode {
  const grants = useListed<GrantView>("/api/agent/grants", {}, { every: 10_000 });
  const deed = useDeed();
  const list = useRef<HTMLDivElement>(null);
  const revoke = async ({ id, tool, subject }: GrantView) => {
    const isDone = await deed.run(() => door.delete(`/api/agent/grants/${encodeURIComponent(id)}`));
    // The button goes away with its row: the focus stays near.
    list.current?.focus();
    if (isDone) say(`Taken back: ${tool} for ${visible(subject)} asks again.`);
    grants.again();
  };
  return (
    <>
      <h1>Grants</h1>
      <p class="lead">What somebody allowed once and for all. Taken back, the next time asks again.</p>
      <Problem of={deed.problem} />
      <Shown of={grants}>
        {(items) =>
          items.length === 0 ? (
            <Empty>Nothing is always allowed. “Always for this recipient” in an approval puts it here.</Empty>
          ) : (
            <div class="scroll" ref={list} tabIndex={-1}>
              <table class="list">
                <thead>
                  <tr>
                    <th scope="col">Tool</th>
                    <th scope="col">For</th>
                    <th scope="col">How long</th>
                    <th scope="col">Given</th>
                    <th scope="col">
                      <span class="unseen">Take back</span>
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {items.map((grant) => (
                    <tr key={grant.id}>
                      <th scope="row">{visible(grant.tool)}</th>
                      <td dir="auto">{visible(grant.subject)}</td>
                      <td>
                        {grant.scope === "always" ? (
                          "always"
                        ) : grant.scope === "document" ? (
                          "in one document"
                        ) : grant.threadId ? (
                          <a href={linkTo("threads", grant.threadId)}>
                            in conversation <Id of={grant.threadId} />
                          </a>
                        ) : (
                          "in one conversation"
                        )}
                      </td>
                      <td>
                        <Moment at={grant.grantedAt} />
                      </td>
                      <td>
                        <button
                          type="button"
                          class="danger"
                          disabled={deed.isBusy}
                          aria-label={`Take back ${visible(grant.tool)} for ${visible(grant.subject)}`}
                          onClick={() => void revoke(grant)}
                        >
                          Take back
                        </button>
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )
        }
      </Shown>
      <More {...grants} />
    </>
  );
}
