/** Where runs and documents are shown. */

import { goTo, linkTo } from "../../place";

export function linkToRun(id: string): string {
  return linkTo("runbooks", `runs/${id}`);
}

const begun = new Set<string>();

/** Show a run that was begun here just now. */
export function goToRun(id: string): void {
  begun.add(id);
  goTo("runbooks", `runs/${id}`);
}

/** Whether all that happens in this run happens after we came. */
export function isBegunHere(id: string): boolean {
  return begun.has(id);
}

export function linkToDocument(path: string, isSource = false): string {
  return linkTo("runbooks", path, isSource ? { source: "" } : {});
}
