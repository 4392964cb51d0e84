/** The console: what the agent does, what it waits for, and what it did. One page, served by `pollux serve`. */

import { render } from "preact";
import { App } from "./app";
import { applyTheme } from "./theme";

applyTheme();
render(<App />, document.body);
