/** A text with names in it. `{{` brings a list of them: arrows choose, Enter puts one in, Escape leaves the list. */

import type { VNode } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { begunAt, completed, matching, type Suggestion } from "./completion";

interface Props {
  readonly label: string;
  readonly hint: string;
  readonly value: string;
  readonly names: readonly Suggestion[];
  readonly onInput: (value: string) => void;
}

export function PromptField({ label, hint, value, names, onInput }: Props): VNode {
  const area = useRef<HTMLTextAreaElement>(null);
  const id = useId();
  const [caret, setCaret] = useState<number | null>(null);
  const [chosen, setChosen] = useState(0);
  /** Where a list was left by Escape: it does not come again for the same braces. */
  const [left, setLeft] = useState<number | null>(null);

  const begun = caret === null ? null : begunAt(value, caret);
  const found = begun && begun.from !== left ? matching(names, begun.typed) : [];
  const isOpen = found.length > 0;
  const at = Math.min(chosen, found.length - 1);
  const look = () => {
    const { selectionStart, selectionEnd } = area.current ?? { selectionStart: 0, selectionEnd: 1 };
    setCaret(selectionStart === selectionEnd ? selectionStart : null);
  };
  useEffect(() => setChosen(0), [begun?.from, begun?.typed]);
  useEffect(() => {
    document.getElementById(`${id}-${at}`)?.scrollIntoView({ block: "nearest" });
  }, [at, isOpen]);

  const take = (suggestion: Suggestion) => {
    const field = area.current;
    if (!field || !begun || caret === null) return;
    const next = completed(value, caret, begun, suggestion.text);
    // At once, not with the next paint: whoever types on meanwhile would type in another place.
    field.value = next.text;
    field.focus();
    field.setSelectionRange(next.caret, next.caret);
    onInput(next.text);
    setCaret(next.caret);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const suggestion = found[at];
    if (!isOpen || !suggestion || event.isComposing) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) setChosen((at + step + found.length) % found.length);
    else if (event.key === "Enter" || event.key === "Tab") take(suggestion);
    else if (event.key === "Escape") setLeft(begun?.from ?? null);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  return (
    <div class="field prompt-field">
      <label for={`${id}-text`}>{label}</label>
      <textarea
        id={`${id}-text`}
        ref={area}
        class="mono"
        dir="auto"
        rows={Math.min(14, Math.max(3, value.split("\n").length + 1))}
        value={value}
        aria-describedby={`${id}-hint`}
        aria-autocomplete="list"
        aria-haspopup="listbox"
        aria-controls={isOpen ? `${id}-list` : undefined}
        aria-activedescendant={isOpen ? `${id}-${at}` : undefined}
        onInput={({ currentTarget }) => {
          onInput(currentTarget.value);
          setLeft(null);
          look();
        }}
        onSelect={look}
        onBlur={() => setCaret(null)}
        onKeyDown={onKeyDown}
      />
      {isOpen && (
        <div
          id={`${id}-list`}
          class="name-list"
          role="listbox"
          aria-label={`Names for ${label.toLowerCase()}`}
        >
          {found.map((suggestion, index) => (
            // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the text; it is named as active there.
            // biome-ignore lint/a11y/useKeyWithClickEvents: the text has the keys.
            <div
              key={suggestion.text}
              id={`${id}-${index}`}
              role="option"
              aria-selected={index === at}
              // Pressed before the text would lose the focus.
              onMouseDown={(event) => event.preventDefault()}
              onClick={() => take(suggestion)}
            >
              <code>{suggestion.text}</code> <small>{suggestion.about}</small>
            </div>
          ))}
        </div>
      )}
      <small id={`${id}-hint`}>{hint}</small>
      <span class="unseen" role="status">
        {isOpen ? `${found.length} names. Arrows choose, Enter takes one.` : ""}
      </span>
    </div>
  );
}
