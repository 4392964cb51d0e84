/** What this server is: its model and its profiles, as its health tells them. */

import type { HealthView } from "@pollux/protocol";
import type { VNode } from "preact";
import { useLoaded } from "../../loading";
import { Facts } from "../../parts/facts";
import { linkTo } from "../../place";

export function Machine(): VNode | null {
  const { value } = useLoaded<HealthView>("/api/health");
  if (!value) return null;
  return (
    <section class="stack" aria-labelledby="server">
      <h2 id="server">This server</h2>
      <div class="card">
        <Facts
          of={[
            ["Model", value.model],
            ["Provider", value.provider],
            ["Profiles", value.profiles.join(", ")],
            ["Version", value.version],
          ]}
        />
        <p class="faint">
          How it is doing is on the page <a href={linkTo("health")}>Health</a>.
        </p>
      </div>
    </section>
  );
}
