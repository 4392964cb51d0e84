export { type Connect, define, PolluxChat, type Wiring } from "./element";
export { type Strings, stringsFor } from "./strings";
