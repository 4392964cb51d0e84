// Writes src/generated.ts from the schemas that the server publishes. With `--print`, on stdout instead.
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { compile } from "json-schema-to-typescript";

const here = dirname(fileURLToPath(import.meta.url));
const schema = (name) => JSON.parse(readFileSync(join(here, "../../../schema", name), "utf8"));

const BANNER = "// Made from schema/ by generate.mjs, and not to be changed by hand.";

const lines = schema("http-lines.json").$defs;
const bodies = schema("openapi.json").components.schemas;
const definitions = {};
const LINES = ["RunLine", "PageLine", "JournalLine", "RunbookLine"];
const BODIES = Object.keys(bodies);
for (const name of LINES) take(name, lines);
for (const name of BODIES) take(name, bodies);

const root = {
  title: "Protocol",
  description: "Everything that a browser and the server say to one another.",
  type: "object",
  definitions,
  properties: Object.fromEntries(
    [...LINES, ...BODIES].map((name) => [name, { $ref: `#/definitions/${name}` }]),
  ),
};
const made = await compile(root, "Protocol", {
  additionalProperties: false,
  bannerComment: BANNER,
  style: { printWidth: 110 },
  unknownAny: true,
});
if (process.argv.includes("--print")) process.stdout.write(made);
else writeFileSync(join(here, "src/generated.ts"), made);

/** A definition and all that it refers to. The two documents call some things alike, and mean the same by it. */
function take(name, from) {
  if (name in definitions) return;
  // A title would be the type's name a second time; its place already says it.
  const { title: _, ...definition } = from[name];
  definitions[name] = {};
  definitions[name] = JSON.parse(JSON.stringify(definition), (key, value) => {
    if (key !== "$ref") return free(value);
    const target = value.split("/").at(-1);
    take(target, from);
    return `#/definitions/${target}`;
  });
}

/** What may hold anything says so; the compiler would take an object without members for an empty one. */
function free(value) {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return value;
  if (value.type === "object" && !value.properties) return { ...value, additionalProperties: true };
  if (Object.keys(value).every((key) => key === "default") && "default" in value)
    return { tsType: "unknown" };
  return value;
}
