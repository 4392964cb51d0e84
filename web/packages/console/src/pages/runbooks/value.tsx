/** A value that a document asks for. */

import type { VNode } from "preact";
import { useId } from "preact/hooks";
import type { Wanted } from "./variables";

export function Value(props: { wanted: Wanted; value: string; onInput: (value: string) => void }): VNode {
  const { name, choices, isNeeded, hint } = props.wanted;
  const onInput = ({ currentTarget }: { currentTarget: { value: string } }) =>
    props.onInput(currentTarget.value);
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{name}</label>
      {choices ? (
        <select id={id} value={props.value} required={isNeeded} onChange={onInput}>
          {!props.value && <option value="">Choose…</option>}
          {choices.map(({ label, value }) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </select>
      ) : (
        <input
          id={id}
          type="text"
          autoComplete="off"
          value={props.value}
          required={isNeeded}
          onInput={onInput}
        />
      )}
      <small>{hint}</small>
    </div>
  );
}
