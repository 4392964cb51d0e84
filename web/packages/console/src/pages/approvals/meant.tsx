/** Approving takes a deliberate act: of somebody who has had the question before them for a moment, with a press that
was meant for this button. A key or a click that was on its way to something else approves nothing. */

import { Press } from "@pollux/widget";
import type { ComponentChildren, VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

/** How long nothing can be approved after the question came up, or became another one. */
export const ARMING_MS = 700;

export interface Arming {
  readonly isArmed: boolean;
  /** Whether a press that began then came late enough. */
  readonly allows: (at: number) => boolean;
}

/** Armed a moment after what is judged, named by `key`, was shown. */
export function useArming(key: string): Arming {
  const since = useRef({ key: "", at: 0 });
  if (since.current.key !== key) since.current = { key, at: performance.now() };
  const [armed, setArmed] = useState("");
  useEffect(() => {
    const timer = setTimeout(() => setArmed(key), ARMING_MS);
    return () => clearTimeout(timer);
  }, [key]);
  return { isArmed: armed === key, allows: (at) => at - since.current.at >= ARMING_MS };
}

interface Props {
  readonly arming: Arming;
  readonly isPrimary?: boolean;
  readonly onMeant: () => void;
  readonly onTooSoon: () => void;
  readonly children: ComponentChildren;
}

export function ApproveButton({ arming, isPrimary = false, onMeant, onTooSoon, children }: Props): VNode {
  const latest = useRef({ arming, onMeant, onTooSoon });
  latest.current = { arming, onMeant, onTooSoon };
  const press = useRef<Press | null>(null);
  press.current ??= new Press(
    ({ at }) => {
      const now = latest.current;
      if (now.arming.isArmed && now.arming.allows(at)) now.onMeant();
      else now.onTooSoon();
    },
    () => latest.current.onTooSoon(),
  );
  return (
    // Not disabled: that would lose the focus of whoever is on it.
    <button
      type="button"
      class={isPrimary ? "primary approve" : "approve"}
      aria-disabled={!arming.isArmed}
      {...press.current.on}
    >
      {children}
    </button>
  );
}
