import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const here = dirname(fileURLToPath(import.meta.url));
const names = ["protocol", "automation", "client", "widget"];

export default defineConfig({
  resolve: {
    alias: Object.fromEntries(
      names.map((name) => [`@pollux/${name}`, join(here, `packages/${name}/src/index.ts`)]),
    ),
  },
  test: { include: ["packages/*/test/**/*.test.ts"], environment: "node" },
});
