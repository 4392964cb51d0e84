/** A server of few words, for tests of what happens around it: it plays its answers in order, whoever asks. */

export interface Asked {
  readonly path: string;
  readonly body: unknown;
}

export function fakeServer(...answers: readonly object[]) {
  const asked: Asked[] = [];
  let next = 0;
  const fetch = async (url: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const path = `${url}`.replace("http://server", "");
    const body: unknown = init?.body ? JSON.parse(`${init.body}`) : null;
    asked.push({ path, body });
    if (path === "/api/page/session") {
      return Response.json({ token: "pv1.x", expiresAt: "2999-01-01T00:00:00.000Z", ok: true });
    }
    if (!path.endsWith("/stream")) return Response.json({ ok: true, items: [], next: null, history: [] });
    const lines = [{ type: "status", status: "planning", runId: "run_1" }, answers[next++] ?? {}];
    return new Response(lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  };
  return { asked, fetch, paths: () => asked.map(({ path }) => path) };
}

export function callFor(id: string, args: object = {}) {
  return { id, name: "click", args, category: "page-automation" };
}

export function wants(...calls: readonly object[]) {
  return { type: "tool-calls", calls, history: [{ seal: calls.length }], runId: "run_1" };
}

export function says(message: string) {
  return { type: "response", message, history: [{ seal: message }], runId: "run_1" };
}

export function memoryShelf(items = new Map<string, string>()) {
  return {
    items,
    getItem: (key: string) => items.get(key) ?? null,
    setItem: (key: string, value: string) => {
      items.set(key, value);
    },
    removeItem: (key: string) => {
      items.delete(key);
    },
  };
}
