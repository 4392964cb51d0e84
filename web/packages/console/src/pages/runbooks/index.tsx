/** Runbooks: the documents of the server's folder, one of them, or one of their runs. */

import type { VNode } from "preact";
import type { Place } from "../../place";
import { DocumentPage } from "./document";
import { Library } from "./library";
import { RunPage } from "./run";

const RUN = /^runs\/(run_[^/.]+)$/;

export function Runbooks({ place }: { place: Place }): VNode {
  const run = RUN.exec(place.id)?.[1];
  if (run) return <RunPage key={run} id={run} />;
  if (place.id) return <DocumentPage key={place.id} path={place.id} isSource={place.query.has("source")} />;
  return <Library />;
}
