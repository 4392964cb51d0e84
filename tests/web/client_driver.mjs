// A page without a browser: the bundled client under Node, told what to do by JSON lines on stdin.
// On stdout: {state} at every change, {id, state} when something asked for is over. What the page executes is appended
// to a file, so that a process that dies has still said what it did.
import { appendFileSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const options = JSON.parse(process.argv[2]);
const { createConversation } = createRequire(import.meta.url)(options.bundle);

let isTelling = false;
if (options.spoilt) {
  // As some old libraries do it.
  // But what this file tells is told as it is.
  Array.prototype.toJSON = function () { return isTelling ? this : `[${this}]`; };
}

const warned = [];
console.warn = (line) => warned.push(line);

function tell(what) {
  isTelling = true;
  process.stdout.write(`${JSON.stringify(what)}\n`);
  isTelling = false;
}

let ahead = 0;
let passed = 0;
let lines = 0;
let requests = 0;

/** A moment between two steps, at which the process may die. */
function point() {
  passed += 1;
  if (passed === options.dieAt) process.kill(process.pid, "SIGKILL");
}

const shelf = {
  getItem: () => (existsSync(options.shelf) ? readFileSync(options.shelf, "utf8") : null),
  setItem: (_, text) => {
    // In one piece, as a browser does it.
    writeFileSync(`${options.shelf}.new`, text);
    renameSync(`${options.shelf}.new`, options.shelf);
    point();
  },
  removeItem: () => rmSync(options.shelf, { force: true }),
};

/** The network: it may cut, cut up, answer for the server, or add what nobody understands. */
async function network(url, init) {
  point();
  requests += 1;
  const own = options.answers?.[requests - 1];
  if (own === "cut") throw new TypeError("fetch failed");
  if (own) return new Response(JSON.stringify(own.body ?? {}), { status: own.status, headers: own.headers ?? {} });
  const response = await fetch(url, init);
  point();
  if (!url.endsWith("/stream") || !response.ok) return response;
  return new Response(response.body.pipeThrough(changed()), { status: 200, headers: response.headers });
}

function changed() {
  return new TransformStream({
    flush: () => (options.deaf ? new Promise(() => undefined) : undefined),
    transform(chunk, controller) {
      let text = Buffer.from(chunk).toString("latin1");
      const count = text.split("\n").length - 1;
      if (options.deaf) {
        // It hears that somebody is at it, and nothing more.
        if (lines === 0) controller.enqueue(Buffer.from(text.slice(0, text.indexOf("\n") + 1), "latin1"));
        lines += count;
        return;
      }
      lines += count;
      if (options.cutAt && lines >= options.cutAt && lines - count < options.cutAt) {
        const end = text.split("\n", count - (lines - options.cutAt)).join("\n").length;
        controller.enqueue(Buffer.from(text.slice(0, end - (options.cutBefore ?? 0)), "latin1"));
        controller.error(new TypeError("terminated"));
        return;
      }
      if (options.junk) text = text.replaceAll("\n", '\n\nnull\n{"type":"later"}\n{"type":"delta"}\n<html>\n[1\n');
      const bytes = Buffer.from(text, "latin1");
      const size = options.chunk ?? bytes.length;
      for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.subarray(at, at + size));
    },
  });
}

const page = {
  state: () => ({ viewState: { title: "Mugs" }, more: "x".repeat(options.large ?? 0) }),
  tools: () => options.tools ?? [],
  async execute(call, signal) {
    point();
    appendFileSync(options.ledger, `${JSON.stringify(call)}\n`);
    point();
    if (options.hold) await new Promise((resolve) => signal.addEventListener("abort", resolve));
    return { result: JSON.stringify({ clicked: true }) };
  },
};

const waits = [];
const talk = createConversation({
  base: options.base,
  userToken: options.userToken,
  page,
  shelf,
  fetch: network,
  now: () => Date.now() + ahead,
  wait: async (milliseconds) => {
    waits.push(milliseconds);
    await new Promise((resolve) => setTimeout(resolve, 5));
  },
  claims: { take: async () => () => undefined },
});
talk.subscribe((state) => tell({ state }));

const verbs = {
  send: (text) => talk.send(text),
  resume: () => talk.resume(),
  retry: () => talk.retry(),
  stop: () => talk.stop(),
  clear: () => talk.clear(),
  resolve: (...args) => talk.resolve(...args),
  shift: (milliseconds) => {
    ahead += milliseconds;
  },
  /** Go on with what there was, or say it; agree to everything that is asked. */
  play: async (text) => {
    await talk.resume();
    if (!talk.state.messages.some(({ role }) => role === "user")) await talk.send(text);
    while (talk.state.approvals.length) await talk.resolve(talk.state.approvals[0].id, "approve_once");
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, verb, args } = JSON.parse(line);
  Promise.resolve(verbs[verb](...args)).then(
    () => tell({ id, state: talk.state, points: passed, waits, requests, lines, warned }),
    (problem) => tell({ id, problem: String(problem?.stack ?? problem) }),
  );
}
process.exit(0);
