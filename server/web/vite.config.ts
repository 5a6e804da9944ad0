import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { defineConfig, type Plugin } from "vite";

const require = createRequire(import.meta.url);
const swagger = require("swagger-ui-dist/package.json") as { version: string };
const SWAGGER = `swagger-ui-${swagger.version}`;

/** Swagger UI as it is published: it is minified already, and going through it again takes longer than all the rest. */
function swaggerUi(): Plugin {
  const read = (name: string): Buffer => readFileSync(require.resolve(`swagger-ui-dist/${name}`));
  return {
    name: "swagger-ui",
    generateBundle() {
      this.emitFile({ type: "asset", fileName: `assets/${SWAGGER}.js`, source: read("swagger-ui-bundle.js") });
      this.emitFile({ type: "asset", fileName: `assets/${SWAGGER}.css`, source: read("swagger-ui.css") });
    },
  };
}

// Addresses are relative: the page works under any path that a proxy gives it.
export default defineConfig({
  base: "./",
  plugins: [swaggerUi()],
  define: { SWAGGER: JSON.stringify(SWAGGER) },
  esbuild: { jsx: "automatic", jsxImportSource: "preact", legalComments: "none" },
  build: {
    outDir: "../whorl/server/web-dist",
    emptyOutDir: true,
    target: "es2022",
    // A policy that allows no inline content also refuses data: addresses in scripts and styles.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1000,
    rollupOptions: { input: ["index.html", "docs.html"] },
  },
  // The gallery is read from the demo and the examples of this repository, which stand above this directory.
  server: { fs: { allow: ["../.."] } },
});
