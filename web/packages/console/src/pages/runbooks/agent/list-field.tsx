/** Several texts, or several names with their values, a row each. */

import type { VNode } from "preact";
import { useRef } from "preact/hooks";
import { Icon } from "../../../parts/icon";

type Pair = readonly [name: string, value: string];

interface ListProps {
  readonly legend: string;
  readonly item: string;
  readonly value: readonly string[];
  readonly onChange: (value: readonly string[]) => void;
}

export function ListField({ legend, item, value, onChange }: ListProps): VNode {
  return (
    <Rows
      legend={legend}
      count={value.length}
      item={item}
      onAdd={() => onChange([...value, ""])}
      onRemove={(index) => onChange(value.filter((_, at) => at !== index))}
      row={(index) => (
        <Cell
          label={`${item} ${index + 1}`}
          value={value[index] ?? ""}
          onInput={(text) => onChange(value.map((each, at) => (at === index ? text : each)))}
        />
      )}
    />
  );
}

interface PairsProps {
  readonly legend: string;
  readonly value: readonly Pair[];
  readonly onChange: (value: readonly Pair[]) => void;
}

export function PairsField({ legend, value, onChange }: PairsProps): VNode {
  const put = (index: number, pair: Pair) => onChange(value.map((each, at) => (at === index ? pair : each)));
  return (
    <Rows
      legend={legend}
      count={value.length}
      item="Variable"
      onAdd={() => onChange([...value, ["", ""]])}
      onRemove={(index) => onChange(value.filter((_, at) => at !== index))}
      row={(index) => {
        const [name, text] = value[index] ?? ["", ""];
        return (
          <>
            <Cell
              label={`Name of variable ${index + 1}`}
              value={name}
              onInput={(next) => put(index, [next, text])}
            />
            <span aria-hidden="true">=</span>
            <Cell
              label={`Value of variable ${index + 1}`}
              value={text}
              onInput={(next) => put(index, [name, next])}
            />
          </>
        );
      }}
    />
  );
}

function Rows(props: {
  legend: string;
  count: number;
  item: string;
  onAdd: () => void;
  onRemove: (index: number) => void;
  row: (index: number) => VNode;
}): VNode {
  const list = useRef<HTMLUListElement>(null);
  const adding = useRef<HTMLButtonElement>(null);
  const add = () => {
    props.onAdd();
    requestAnimationFrame(() => list.current?.querySelector<HTMLElement>("li:last-child input")?.focus());
  };
  const remove = (index: number) => {
    props.onRemove(index);
    adding.current?.focus();
  };
  return (
    <fieldset class="field-rows">
      <legend>{props.legend}</legend>
      <ul ref={list}>
        {Array.from({ length: props.count }, (_, index) => (
          <li key={index}>
            {props.row(index)}
            <button
              type="button"
              class="plain"
              aria-label={`Remove ${props.item.toLowerCase()} ${index + 1}`}
              onClick={() => remove(index)}
            >
              <Icon name="bin" />
            </button>
          </li>
        ))}
      </ul>
      <button type="button" ref={adding} aria-label={`Add ${props.item.toLowerCase()}`} onClick={add}>
        <Icon name="plus" />
        Add
      </button>
    </fieldset>
  );
}

function Cell(props: { label: string; value: string; onInput: (text: string) => void }): VNode {
  return (
    <input
      type="text"
      class="mono"
      autoComplete="off"
      spellcheck={false}
      aria-label={props.label}
      value={props.value}
      onInput={({ currentTarget }) => props.onInput(currentTarget.value)}
    />
  );
}
