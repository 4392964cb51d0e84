/** For the operator: what this server lacks before accounts can be connected. */

import type { VNode } from "preact";
import { Pre } from "../../parts/arguments";
import { CopyButton } from "../../parts/copy";

export function Setup(): VNode {
  const callback = `${location.origin}/api/google/callback`;
  const settings =
    "POLLUX_GOOGLE_CLIENT_ID=1234-abcd.apps.googleusercontent.com\nPOLLUX_GOOGLE_CLIENT_SECRET=the-secret-of-that-client";
  return (
    <section class="card" aria-labelledby="setup">
      <h2 id="setup">This server has no Google client yet</h2>
      <p>Whoever runs the server does this once; then each user connects their own account here.</p>
      <ol class="setup-steps">
        <li>
          In the Google Cloud console, make a project and switch on the Gmail API and the Google Calendar API.
        </li>
        <li>
          Make a client of the type “Web application” with this redirect address:
          <span class="row">
            <code>{callback}</code>
            <CopyButton text={callback} what="the redirect address">
              Copy
            </CopyButton>
          </span>
        </li>
        <li>
          Set both of these in the environment of <code>pollux serve</code>, and start it again:
          <Pre text={settings} label="What to set" />
        </li>
        <li>
          Behind a proxy, also set <code>POLLUX_PUBLIC_URL</code> to the address that people use.
        </li>
      </ol>
      <p class="faint">
        The guide “Connect Gmail and Calendar” has each step, and how to try it without Google.
      </p>
    </section>
  );
}
