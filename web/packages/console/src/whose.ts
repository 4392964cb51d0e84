/** What a tab keeps while it lives belongs to whoever wrote it. Somebody else who signs in there is shown none of it. */

const WHOSE = "pollux-user";
const THEIRS = "pollux-draft:";

/** From here on things are kept for this person. Those of another one are gone. */
export function keepFor(user: string): void {
  try {
    if (sessionStorage.getItem(WHOSE) === user) return;
    for (const name of Object.keys(sessionStorage))
      if (name.startsWith(THEIRS)) sessionStorage.removeItem(name);
    sessionStorage.setItem(WHOSE, user);
  } catch {
    // Then nothing is kept either.
  }
}
