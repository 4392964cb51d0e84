/** A page that broke says so. The rest of the console stays, and another page is another try. */

import type { ComponentChildren, VNode } from "preact";
import { useErrorBoundary } from "preact/hooks";
import { Problem } from "./notice";

export function Boundary({ children }: { children: ComponentChildren }): VNode {
  const [problem, again] = useErrorBoundary();
  if (problem) return <Problem of={problem} again={again} />;
  return <>{children}</>;
}
