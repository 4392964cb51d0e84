/** Which of the server's agents is meant, where it has more than one. */

import type { HealthView } from "@pollux/protocol";
import type { VNode } from "preact";
import { useLoaded } from "../../loading";

const DEFAULT = "default";
/** The agent of pages sees and drives the page that it is in. Here is none. */
const OF_PAGES = "page";

/** Those that can be talked to here. */
export function useProfiles(): readonly string[] {
  const health = useLoaded<HealthView>("/api/health");
  return (health.value?.profiles ?? []).filter((name) => name !== OF_PAGES);
}

interface Props {
  readonly profiles: readonly string[];
  readonly chosen: string;
  readonly onChoose: (profile: string) => void;
}

export function ProfileChoice({ profiles, chosen, onChoose }: Props): VNode | null {
  if (profiles.length < 2) return null;
  return (
    <select
      class="profile"
      aria-label="Agent"
      value={chosen || DEFAULT}
      onChange={({ currentTarget }) => onChoose(currentTarget.value)}
    >
      {profiles.map((name) => (
        <option key={name} value={name}>
          {name}
        </option>
      ))}
    </select>
  );
}
