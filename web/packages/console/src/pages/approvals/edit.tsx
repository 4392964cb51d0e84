/** Other arguments for what waits. They are judged anew: nothing runs that nobody was shown. */

import { visible } from "@pollux/widget";
import type { VNode } from "preact";
import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { useDeed } from "../../loading";
import { Problem } from "../../parts/notice";
import { edit } from "./answers";
import { useBegun } from "./begun";
import type { Fate } from "./fate";
import { argsOf, type Field, fieldsOf, type Kind, Mistyped } from "./fields";
import type { Question } from "./question";

const HINTS: Partial<Record<Kind, string>> = { lines: "One on each line.", json: "As JSON." };

interface Props {
  readonly question: Question;
  readonly onEdited: (fate: Fate) => void;
  readonly onLeft: () => void;
}

export function EditForm({ question, onEdited, onLeft }: Props): VNode {
  // Other arguments than those it was begun with are another form.
  const begun = useBegun(`edit ${question.id} ${question.argsHash}`, () => fieldsOf(question.args));
  const fields = begun.value;
  const [mistyped, setMistyped] = useState<Mistyped | null>(null);
  const deed = useDeed();
  const form = useRef<HTMLFormElement>(null);
  // With the form itself: later, it would take the caret out of the field in which somebody already writes.
  useLayoutEffect(() => {
    form.current?.querySelector<HTMLElement>("input, textarea")?.focus();
  }, []);

  const submit = async (event: Event) => {
    event.preventDefault();
    if (deed.isBusy) return;
    let args: { [name: string]: unknown };
    try {
      args = argsOf(fields);
    } catch (problem) {
      if (!(problem instanceof Mistyped)) throw problem;
      setMistyped(problem);
      form.current?.querySelector<HTMLElement>(`[name="${CSS.escape(problem.field)}"]`)?.focus();
      return;
    }
    setMistyped(null);
    await deed.run(async () => {
      const fate = await edit(question, args);
      begun.forget();
      onEdited(fate);
    });
  };
  const put = (name: string, text: string) =>
    begun.put(fields.map((field) => (field.name === name ? { ...field, text } : field)));
  const leave = () => {
    begun.forget();
    onLeft();
  };

  return (
    <form
      ref={form}
      class="answer stack"
      aria-label="Other arguments"
      onSubmit={(event) => void submit(event)}
    >
      {fields.length === 0 && <p class="faint">It takes no arguments: there is nothing to change.</p>}
      {fields.map((field) => (
        <FieldView
          key={field.name}
          field={field}
          problem={mistyped?.field === field.name ? mistyped.message : ""}
          onInput={(text) => put(field.name, text)}
        />
      ))}
      <p class="faint">
        What you write is judged anew: it asks again here, it is forbidden, or it is done at once where it is
        always allowed.
      </p>
      <Problem of={deed.problem} />
      <div class="row">
        <button type="submit" class="primary" disabled={fields.length === 0} aria-disabled={deed.isBusy}>
          Ask about these instead
        </button>
        <button type="button" onClick={leave}>
          Leave it as it is
        </button>
      </div>
    </form>
  );
}

interface FieldProps {
  readonly field: Field;
  readonly problem: string;
  readonly onInput: (text: string) => void;
}

function FieldView({ field: { name, kind, text }, problem, onInput }: FieldProps): VNode {
  const label = visible(name);
  const id = useId();
  if (kind === "switch") {
    return (
      <label class="check">
        <input
          type="checkbox"
          name={name}
          checked={text !== ""}
          onChange={({ currentTarget }) => onInput(currentTarget.checked ? "on" : "")}
        />
        {label}
      </label>
    );
  }
  const unseen = visible(text);
  const hint = [HINTS[kind], unseen !== text && `With what cannot be seen spelt out: ${unseen}`].filter(
    Boolean,
  );
  const given = {
    ...{ id, name, value: text, spellcheck: kind === "text", "aria-invalid": problem !== "" },
    dir: kind === "json" ? "ltr" : "auto",
    "aria-describedby": `${id}-hint`,
    onInput: ({ currentTarget }: { currentTarget: HTMLInputElement | HTMLTextAreaElement }) =>
      onInput(currentTarget.value),
  } as const;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {kind === "line" || kind === "number" ? (
        <input
          type="text"
          inputMode={kind === "number" ? "decimal" : undefined}
          autocomplete="off"
          {...given}
        />
      ) : (
        <textarea class={kind === "json" ? "mono" : undefined} rows={rowsFor(text)} {...given} />
      )}
      <small id={`${id}-hint`}>{hint.join(" ")}</small>
      {problem && (
        <small class="wrong" role="alert">
          {problem}
        </small>
      )}
    </div>
  );
}

function rowsFor(text: string): number {
  return Math.min(14, Math.max(2, text.split("\n").length, Math.ceil(text.length / 90)));
}
