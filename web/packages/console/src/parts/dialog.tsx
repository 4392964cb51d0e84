/** A question in front of the page. The browser keeps the focus in it, and Escape leaves it. */

import type { ComponentChildren, VNode } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { Icon } from "./icon";

interface Props {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

export function Dialog({ title, onClose, children }: Props): VNode {
  const dialog = useRef<HTMLDialogElement>(null);
  const name = useId();
  // Before anything can be pressed: what comes in the same moment is meant for it.
  useLayoutEffect(() => {
    const opener = document.activeElement;
    dialog.current?.showModal();
    return () => {
      // What the browser would do by itself, had the dialog been closed rather than taken away.
      if (opener instanceof HTMLElement) opener.focus();
    };
  }, []);
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby={name} onClose={onClose}>
      <header>
        <h2 id={name}>{title}</h2>
        <button type="button" class="plain" aria-label="Close" onClick={() => dialog.current?.close()}>
          <Icon name="close" />
        </button>
      </header>
      {children}
    </dialog>
  );
}
