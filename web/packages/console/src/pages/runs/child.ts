/** The run that works on an action. Its id follows from the action's own, so that it is begun once. */

/** The id; empty where this browser cannot make it: only pages that came over a safe connection may. */
export async function childOf(actionId: string): Promise<string> {
  if (!globalThis.crypto?.subtle) return "";
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(actionId));
  const text = [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return `run_${text.slice(0, 24)}`;
}
