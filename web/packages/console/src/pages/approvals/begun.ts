/** What somebody has begun to write as an answer. It outlives the form: Escape, another page or a session that ended
cost nobody their words. Nothing of it counts before it is sent. */

import { useState } from "preact/hooks";

const begun = new Map<string, unknown>();

interface Begun<T> {
  readonly value: T;
  readonly put: (value: T) => void;
  /** It was sent, or is not wanted any more. */
  readonly forget: () => void;
}

/** What was begun under this name, or what one begins with. */
export function useBegun<T>(name: string, first: () => T): Begun<T> {
  const [value, setValue] = useState(() => (begun.has(name) ? (begun.get(name) as T) : first()));
  return {
    value,
    put: (next) => {
      begun.set(name, next);
      setValue(next);
    },
    forget: () => begun.delete(name),
  };
}
