// Bundles what the server gives to browsers: the chat for pages, what it loads to see and drive them, that by itself,
// and the console.
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build, transform } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.env.POLLUX_STATIC ?? join(here, "../src/pollux/_static");
const LARGEST = {
  "pollux.js": 45 * 1024,
  "automation.mjs": 42 * 1024,
  "automation.js": 42 * 1024,
  "console/console.js": 110 * 1024,
  "console/console.css": 12 * 1024,
};

export const alias = Object.fromEntries(
  ["protocol", "automation", "client", "widget"].map((name) => [
    `@pollux/${name}`,
    join(here, `packages/${name}/src/index.ts`),
  ]),
);

const options = {
  bundle: true,
  minify: true,
  sourcemap: false,
  format: "iife",
  target: ["es2022"],
  legalComments: "none",
  jsx: "automatic",
  jsxImportSource: "preact",
  alias,
};

const css = {
  name: "css",
  setup(build) {
    build.onLoad({ filter: /\.css$/ }, async ({ path }) => {
      const { code } = await transform(readFileSync(path, "utf8"), { loader: "css", minify: true });
      return { contents: code, loader: "text" };
    });
  },
};

const bundle = (entry, name, more = {}) =>
  build({
    ...options,
    plugins: [css],
    entryPoints: [join(here, "packages", entry)],
    outfile: join(out, name),
    ...more,
  });

mkdirSync(out, { recursive: true });
await bundle("automation/src/module.ts", "automation.mjs", { format: "esm" });
await bundle("automation/src/global.ts", "automation.js");
const version = createHash("sha256")
  .update(readFileSync(join(out, "automation.mjs")))
  .digest("hex")
  .slice(0, 12);
await bundle("widget/src/main.ts", "pollux.js", { define: { AUTOMATION: JSON.stringify(version) } });
mkdirSync(join(out, "console"), { recursive: true });
await bundle("console/src/main.tsx", "console/console.js", { format: "esm" });
await bundle("console/src/style/index.css", "console/console.css", { plugins: [] });
for (const name of ["index.html", "icon.svg"])
  copyFileSync(join(here, "packages/console/src", name), join(out, "console", name));
// The chat as a contract, for those who build their own.
for (const name of ["gemini-chat.jay-contract", "gemini-chat.jay-contract.d.ts"])
  copyFileSync(join(here, "packages/widget", name), join(out, name));
for (const [name, largest] of Object.entries(LARGEST)) {
  const path = join(out, name);
  const size = gzipSync(readFileSync(path), { level: 9 }).length;
  console.log(`${name}: ${statSync(path).size} bytes, ${size} gzipped`);
  if (size > largest) {
    console.error(`${name} may have at most ${largest} bytes gzipped`);
    process.exitCode = 1;
  }
}
