/** For whoever is not signed in: the token that the server made, exchanged for a cookie that scripts cannot read. */

import type { SessionView } from "@pollux/protocol";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { door } from "./door";
import { useDeed } from "./loading";
import { Problem } from "./parts/notice";

export function SignIn({ onSignedIn }: { onSignedIn: (who: SessionView) => void }): VNode {
  const [token, setToken] = useState("");
  const deed = useDeed();
  const submit = (event: Event) => {
    event.preventDefault();
    if (token.trim()) void deed.run(async () => onSignedIn(await door.signIn(token.trim())));
  };
  return (
    <main class="alone">
      <form class="card sign-in" onSubmit={submit}>
        <h1>Sign in to Pollux</h1>
        <p class="faint">
          `pollux serve` shows a link that signs in by itself. Or paste the token here: it is in the file that
          the server names as tokenFile, or the one you were given.
        </p>
        <label class="field">
          Token
          <input
            type="password"
            name="token"
            autocomplete="current-password"
            required
            value={token}
            onInput={({ currentTarget }) => setToken(currentTarget.value)}
          />
        </label>
        <Problem of={deed.problem} />
        <button type="submit" class="primary" disabled={deed.isBusy}>
          Sign in
        </button>
      </form>
    </main>
  );
}
