/** The automation by itself, as a script for any page: `PolluxAutomation.createAutomation(document)`. */

import { createAutomation, recordListeners } from "./index";

// As early as can be: whoever listened before this script came is known only by what can be seen.
recordListeners();

const own = { createAutomation };
Object.defineProperty(globalThis, "PolluxAutomation", {
  value: Object.freeze(own),
  configurable: true,
  writable: true,
});

declare global {
  var PolluxAutomation: typeof own;
}
