/** Where the visitor writes. Enter sends, Shift+Enter begins a new line. */

import type { RefObject, VNode } from "preact";
import { asPressed } from "../keys";
import type { Strings } from "../strings";
import { Icon } from "./icons";

interface Props {
  readonly draft: string;
  readonly canSend: boolean;
  readonly strings: Strings;
  readonly field: RefObject<HTMLTextAreaElement | null>;
  readonly onInput: (draft: string) => void;
  readonly onSend: () => void;
}

export function Composer({ draft, canSend, strings, field, onInput, onSend }: Props): VNode {
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        onSend();
      }}
    >
      <textarea
        ref={field}
        rows={1}
        dir="auto"
        value={draft}
        aria-label={strings.input}
        placeholder={strings.placeholder}
        enterkeyhint="send"
        onInput={(event) => onInput(event.currentTarget.value)}
        onKeyDown={(event) => {
          // 229: the key belongs to a word that is still being composed.
          const { key, shiftKey, isComposing, keyCode } = asPressed(event);
          if (key !== "Enter" || shiftKey || isComposing || keyCode === 229) return;
          event.preventDefault();
          if (!event.repeat) onSend();
        }}
      />
      <button type="submit" class="send" aria-label={strings.send} title={strings.send} disabled={!canSend}>
        <Icon name="send" />
      </button>
    </form>
  );
}
