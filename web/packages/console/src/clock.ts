/** What time it is for the server. Its moments are compared with its own clock: the one here may be hours off. */

/** Less than this is the way of an answer, and the fraction of a second that it does not name. */
const SLIGHT_MS = 3_000;

let ahead = 0;

/** An answer said when it was given. */
export function heardAt(date: string | null): void {
  const given = Date.parse(date ?? "");
  if (Number.isNaN(given)) return;
  const by = given - Date.now();
  ahead = Math.abs(by) < SLIGHT_MS ? 0 : by;
}

/** The present moment, by the server's clock. */
export function present(): number {
  return Date.now() + ahead;
}
