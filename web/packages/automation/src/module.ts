/** The automation as a module: what the chat loads once it is needed. */

export { createAutomation } from "./index";
