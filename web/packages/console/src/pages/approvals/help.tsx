/** What the keys do, and the way to turn them off. */

import type { VNode } from "preact";
import { Dialog } from "../../parts/dialog";
import { useSignal } from "../../parts/signal";
import { keysOn, turnKeys } from "./keys";

const KEYS: readonly (readonly [keys: readonly string[], does: string])[] = [
  [["j", "↓"], "the next question"],
  [["k", "↑"], "the one before"],
  [["Enter"], "open it, or close it"],
  [["a", "a"], "approve what is open, once: the second press does it"],
  [["Shift", "a"], "the same with one press"],
  [["r"], "reject what is open: asks why"],
  [["e"], "change its arguments"],
  [["x"], "select it, or not"],
  [["Esc"], "leave what was begun"],
  [["?"], "show this"],
];

export function Help({ onClose }: { onClose: () => void }): VNode {
  const isOn = useSignal(keysOn);
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl class="keys">
        {KEYS.map(([keys, does]) => (
          <div key={does}>
            <dt>
              {keys.map((key, index) => (
                <kbd key={index}>{key}</kbd>
              ))}
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
      <p class="faint">
        They do nothing while you type. Only what is open can be answered, and not from another question: look
        at it first.
      </p>
      <label class="check">
        <input
          type="checkbox"
          checked={isOn}
          onChange={({ currentTarget }) => turnKeys(currentTarget.checked)}
        />
        Single letters do these things
      </label>
    </Dialog>
  );
}
