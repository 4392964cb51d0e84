/** A value that several parts of the page follow. */

import { useEffect, useState } from "preact/hooks";

export interface Signal<T> {
  get(): T;
  set(value: T): void;
  /** Be told of each new value. What is returned takes that back. */
  watch(told: (value: T) => void): () => void;
}

export function signalled<T>(first: T): Signal<T> {
  const watchers = new Set<(value: T) => void>();
  let value = first;
  return {
    get: () => value,
    set: (next) => {
      value = next;
      for (const told of [...watchers]) told(next);
    },
    watch: (told) => {
      watchers.add(told);
      return () => watchers.delete(told);
    },
  };
}

export function useSignal<T>(signal: Signal<T>): T {
  const [value, setValue] = useState(signal.get);
  useEffect(() => {
    // It may have changed before anybody watched.
    setValue(signal.get);
    return signal.watch((next) => setValue(() => next));
  }, [signal]);
  return value;
}
