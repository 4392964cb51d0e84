/** Where in the console we are. It stands in the fragment, so that the server has to know one page only. */

import { useEffect, useState } from "preact/hooks";

export interface Place {
  /** The page: the first part of the path. */
  readonly page: string;
  /** What of it, if anything: a thread, a run, a document. */
  readonly id: string;
  readonly query: URLSearchParams;
}

export const FIRST_PAGE = "threads";

/** The place that a fragment names; the first page where it names none. */
export function placeOf(fragment: string): Place {
  const [path = "", query = ""] = fragment.replace(/^#?\/?/, "").split("?", 2);
  const [page = "", ...rest] = path.split("/");
  return { page: page || FIRST_PAGE, id: decoded(rest.join("/")), query: new URLSearchParams(query) };
}

/** What a link to a place has as its address. */
export function linkTo(page: string, id = "", query: Record<string, string> = {}): string {
  const asked = new URLSearchParams(query).toString();
  return `#/${page}${id && `/${encodeURIComponent(id)}`}${asked && `?${asked}`}`;
}

export function goTo(page: string, id = "", query: Record<string, string> = {}): void {
  location.hash = linkTo(page, id, query);
}

/** Go there, and leave no trace of here: back leads to where we were before. */
export function replaceBy(page: string, id = "", query: Record<string, string> = {}): void {
  location.replace(linkTo(page, id, query));
}

/** The present place; whoever uses it is shown again when it changes. */
export function usePlace(): Place {
  const [fragment, setFragment] = useState(location.hash);
  useEffect(() => {
    const moved = () => setFragment(location.hash);
    addEventListener("hashchange", moved);
    // Somebody may have been faster than this effect.
    moved();
    return () => removeEventListener("hashchange", moved);
  }, []);
  return placeOf(fragment);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // Somebody wrote it by hand.
    return text;
  }
}
