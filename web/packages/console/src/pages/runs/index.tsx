/** The runs, and one of them from its first event to its last. */

import type { VNode } from "preact";
import type { Place } from "../../place";
import { RunList } from "./list";
import { Timeline } from "./timeline";

export function Runs({ place }: { place: Place }): VNode {
  return place.id ? <Timeline key={place.id} id={place.id} /> : <RunList place={place} />;
}
