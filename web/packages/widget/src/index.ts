export { type Connect, define, PolluxChat, type Wiring } from "./element";
export { exact, remaining, rows, visible } from "./exact";
export { Blocks } from "./markdown/blocks";
export { BlockView } from "./markdown/nodes";
export { type Strings, stringsFor } from "./strings";
export { Press, type Pressed } from "./view/press";
