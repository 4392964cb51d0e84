/** Before a document runs: the values that it asks for, and whether it is trusted as it stands. */

import type { DocumentView, RunbookRunView, RunbookStartBody } from "@pollux/protocol";
import { visible } from "@pollux/widget";
import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { door } from "../../door";
import { useDeed } from "../../loading";
import { JsonView, Pre } from "../../parts/arguments";
import { Dialog } from "../../parts/dialog";
import { Notice, Problem } from "../../parts/notice";
import { newId } from "./adding";
import { actOf, askedBy, kindOf, nameOf } from "./kinds";
import { goToRun } from "./links";
import { seen } from "./seen";
import { Sign } from "./sign";
import { Value } from "./value";
import { wantedBy } from "./variables";

interface Props {
  readonly document: DocumentView;
  readonly onClose: () => void;
  /** The document is not this one any more. */
  readonly onChanged: () => void;
}

export function Begin({ document, onClose, onChanged }: Props): VNode {
  const wanted = wantedBy(document.blocks);
  const [values, setValues] = useState<Record<string, string>>(() =>
    Object.fromEntries(wanted.filter(({ value }) => value).map(({ name, value }) => [name, value])),
  );
  const [isTrusted, setIsTrusted] = useState(false);
  const [model, setModel] = useState("");
  // Sent twice, the same begins once.
  const sent = useRef({ text: "", key: "" });
  const deed = useDeed();
  // Another text is another question.
  useEffect(() => setIsTrusted(false), [document.digest, document.programsDigest]);
  const begin = () => {
    const variables = Object.fromEntries(Object.entries(values).filter(([, value]) => value));
    const body: RunbookStartBody = {
      ...{ path: document.path, digest: document.digest, programsDigest: document.programsDigest },
      ...{ trust: isTrusted, variables },
      ...(model.trim() && { model: model.trim() }),
    };
    const text = JSON.stringify(body);
    if (sent.current.text !== text) sent.current = { text, key: newId() };
    return deed.run(async () => {
      const headers = { "idempotency-key": sent.current.key };
      goToRun((await door.post<RunbookRunView>("/api/runbooks/runs", body, headers)).runId);
    });
  };
  const isMissing = wanted.some(({ name, isNeeded }) => isNeeded && !values[name]);
  return (
    <Dialog title={`Run “${visible(document.name)}”`} onClose={onClose}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void begin();
        }}
      >
        {wanted.map((each) => (
          <Value
            key={each.name}
            wanted={each}
            value={values[each.name] ?? ""}
            onInput={(value) => setValues({ ...values, [each.name]: value })}
          />
        ))}
        {document.blocks.some(
          (block) => block.agent?.source.type === "internal" && !block.agent.source.model,
        ) && (
          <label class="field">
            Model
            <input
              type="text"
              value={model}
              autoComplete="off"
              onInput={({ currentTarget }) => setModel(currentTarget.value)}
            />
            <small>For agents that name none. Empty: as the settings say.</small>
          </label>
        )}
        {document.trusted ? (
          <p class="faint">
            It was trusted as it stands. What its agents ask for is still asked about, and so is a command
            into which another block's words were put.
          </p>
        ) : (
          <TrustQuestion document={document} isTrusted={isTrusted} onChange={setIsTrusted} />
        )}
        <Problem of={deed.problem} {...(isChanged(deed.problem) && { again: onChanged })} />
        <div class="row">
          <button type="submit" class="primary" disabled={deed.isBusy || isMissing}>
            {isTrusted ? "Trust and run" : "Run"}
          </button>
          <button type="button" onClick={onClose}>
            Not now
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function isChanged(problem: unknown): boolean {
  return (problem as { code?: string } | null)?.code === "document_changed";
}

/** What it would run, and the choice: to be asked about each block, or to accept all of it as it stands. */
function TrustQuestion(props: {
  document: DocumentView;
  isTrusted: boolean;
  onChange: (isTrusted: boolean) => void;
}): VNode {
  const acting = props.document.blocks.filter((block) => block.runs);
  const wide = acting.filter(
    ({ agent }) => agent?.capabilities.alwaysAllowTools || agent?.capabilities.executeCommands,
  );
  return (
    <>
      <fieldset class="stack">
        <legend>Do you trust it as it stands?</legend>
        <label class="check">
          <input
            type="radio"
            name="trust"
            checked={!props.isTrusted}
            onChange={() => props.onChange(false)}
          />
          <span>No: ask me about every block that acts</span>
        </label>
        <label class="check">
          <input type="radio" name="trust" checked={props.isTrusted} onChange={() => props.onChange(true)} />
          <span>Yes: I have read what it would run. Any change to it asks again</span>
        </label>
      </fieldset>
      {props.isTrusted && props.document.programs.length > 0 && (
        <Notice tone="info">
          <span>
            It starts these programs, and another one asks again:{" "}
            {props.document.programs.map(({ word, file }) => `${word} is ${file}`).join("; ")}.
          </span>
        </Notice>
      )}
      {props.isTrusted && wide.length > 0 && (
        <Notice tone="warn">
          <span>
            It asks for more than most:{" "}
            {wide
              .map((block) => {
                const isFree = block.agent?.capabilities.alwaysAllowTools;
                return `${nameOf(block)} ${isFree ? "would be asked about nothing" : "may run commands"}`;
              })
              .join("; ")}
            .
          </span>
        </Notice>
      )}
      <details open>
        <summary>What it would run</summary>
        <ol class="would">
          {acting.map((block) => (
            <li key={block.id}>
              <p class="row">
                <Sign name={kindOf(block.type).sign} />
                <b>{seen(nameOf(block))}</b>
                <span class="faint">{seen(askedBy(block)) || kindOf(block.type).text}</span>
              </p>
              {actOf(block) && <Pre text={seen(actOf(block))} label={`What ${nameOf(block)} would run`} />}
              <details>
                <summary>All of {seen(nameOf(block))}</summary>
                <JsonView value={block.props} label={`Everything that ${nameOf(block)} is told`} />
              </details>
            </li>
          ))}
        </ol>
      </details>
    </>
  );
}
