/** Where somebody writes. Enter sends, Shift+Enter begins a new line; files are picked, pasted or dropped. */

import type { RefObject, VNode } from "preact";
import { useId, useRef } from "preact/hooks";
import { Icon } from "../../parts/icon";
import { PickedFiles } from "./attached";
import { ACCEPTED, BOUNDS, type Picked } from "./files";
import { ProfileChoice } from "./profile";

interface Props {
  readonly draft: string;
  readonly files: readonly Picked[];
  /** What is to be said of files that could not be added. */
  readonly refused: readonly string[];
  readonly field: RefObject<HTMLTextAreaElement | null>;
  readonly isSending: boolean;
  readonly profiles: readonly string[];
  readonly profile: string;
  readonly isStopping?: boolean;
  readonly onProfile: (profile: string) => void;
  readonly onDraft: (draft: string) => void;
  readonly add: (files: readonly File[]) => void;
  readonly onRemove: (id: number) => void;
  readonly onSend: () => void;
  /** There is something to stop. */
  readonly onStop?: () => void;
}

const KEYS = "Enter sends, Shift+Enter begins a new line.";

export function Composer(props: Props): VNode {
  const { draft, files, refused, field, isSending, isStopping = false, add, onDraft, onSend, onStop } = props;
  const chooser = useRef<HTMLInputElement>(null);
  const hint = useId();
  const hasText = draft.trim() !== "";
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        onSend();
      }}
    >
      {refused.length > 0 && (
        <div class="refused" role="alert">
          {refused.map((why) => (
            <p key={why}>{why}</p>
          ))}
        </div>
      )}
      <PickedFiles files={files} onRemove={props.onRemove} />
      <textarea
        ref={field}
        rows={1}
        dir="auto"
        value={draft}
        aria-label="Message"
        aria-describedby={hint}
        placeholder="Say what you want done"
        enterkeyhint="send"
        maxLength={200_000}
        onInput={({ currentTarget }) => onDraft(currentTarget.value)}
        onKeyDown={(event) => {
          // 229: the key belongs to a word that is still being composed.
          if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
          event.preventDefault();
          if (!event.repeat) onSend();
        }}
        onPaste={(event) => {
          const pasted = [...(event.clipboardData?.files ?? [])];
          if (pasted.length === 0) return;
          event.preventDefault();
          add(pasted);
        }}
      />
      <div class="writing">
        <input
          ref={chooser}
          type="file"
          class="unseen"
          multiple
          tabIndex={-1}
          aria-label="Files"
          accept={ACCEPTED}
          onChange={({ currentTarget }) => {
            add([...(currentTarget.files ?? [])]);
            // The same file may be picked again later.
            currentTarget.value = "";
          }}
        />
        <button type="button" class="plain" title={BOUNDS} onClick={() => chooser.current?.click()}>
          <Icon name="attach" />
          <span class="unseen">Attach files</span>
        </button>
        <ProfileChoice profiles={props.profiles} chosen={props.profile} onChoose={props.onProfile} />
        <p id={hint} class={files.length > 0 ? "hint needed" : "hint"}>
          {files.length === 0 ? KEYS : hasText ? BOUNDS : "Say what to do with it."}
        </p>
        {onStop && (
          <button
            type="button"
            class="stop"
            aria-disabled={isStopping}
            onClick={() => isStopping || onStop()}
          >
            <Icon name="stop" />
            {isStopping ? "Stopping…" : "Stop"}
          </button>
        )}
        <button type="submit" class="primary send" aria-disabled={!hasText || isSending}>
          <Icon name="send" />
          {isSending ? "Sending…" : "Send"}
        </button>
      </div>
    </form>
  );
}
