// The layers of the framework, and the rules that keep its imports pointing
// down: one between the layers, one for packages from outside.

import { dirname, join, relative } from "node:path";
import { importVisitor } from "./imports.ts";

const ROOT = join(import.meta.dirname!, "..", "..");

/**
 * Three towers of layers, each from low to high. A name that ends in "/" is a folder. A module may
 * import from its own folder and from the layers below it. Modules in one layer, and the
 * towers, may not import from each other. All may import {@linkcode COMMON}, and tests of
 * applications the client.
 */
const TOWERS: readonly (readonly (readonly string[])[])[] = [
  [
    ["src/async_context.ts"],
    ["src/options.ts", "src/redaction.ts", "src/runtime.ts", "src/log_text.ts", "src/ordered_map.ts"],
    ["src/telemetry.ts", "src/error_text.ts"],
    ["src/errors.ts", "src/log.ts", "src/duration.ts", "src/json_data.ts"],
    ["src/user_log.ts", "src/records/"],
    ["src/schema/"],
    ["src/topics/", "src/settings.ts"],
    ["src/consumers/"],
    ["src/http/"],
    ["src/cron/"],
    ["src/binding/"],
    ["src/auth/"],
    ["src/rate_limit/"],
    ["src/idempotency/"],
    ["src/routing/"],
    ["src/middleware/"],
    ["src/describe/json_schema/"],
    ["src/describe/route/"],
    ["src/describe/openapi/"],
    ["src/describe/page/", "src/describe/mcp/", "src/describe/asyncapi/"],
    ["src/describe/route_check.ts"],
    [
      "src/router.ts",
      "src/lifespan.ts",
      "src/built_in.ts",
      "src/documents.ts",
      "src/override.ts",
      "src/work.ts",
      "src/gauges.ts",
    ],
    ["src/lifecycle.ts", "src/failed_start.ts"],
    ["src/http_server.ts", "src/readiness.ts", "src/sent_tags.ts", "src/stop_request.ts"],
    ["src/listen.ts"],
    ["src/serve.ts", "src/app_options.ts"],
    ["src/serving.ts"],
    ["src/app.ts"],
    ["src/testing/"],
    ["src/testing.ts", "mod.ts", "auth.ts", "middleware.ts", "store.ts", "openapi.ts", "types.ts"],
  ],
  [
    ["src/cli/"],
    ["cli.ts"],
  ],
  [
    ["src/client/"],
    ["client.ts"],
  ],
];

/** What all towers may import: the version, and the check of options. */
const COMMON: ReadonlySet<string> = new Set(["deno.json", "src/options.ts"]);

/** What makes a client of an application under test. */
const TESTING: ReadonlySet<string> = new Set(["src/testing.ts", "src/testing/"]);

/** The modules that `deno.json` exports, without those of `src`. */
const ENTRY_POINTS: ReadonlySet<string> = new Set([
  "mod.ts",
  "auth.ts",
  "middleware.ts",
  "store.ts",
  "openapi.ts",
  "types.ts",
  "client.ts",
  "cli.ts",
]);

/** Where each package may be imported. */
const PACKAGES: ReadonlyMap<string, readonly string[]> = new Map([
  ["@std/cli", ["src/cli/", "cli.ts"]],
  ["@std/http", ["src/errors.ts", "src/http/", "src/describe/"]],
  ["@fastify/busboy", ["src/http/"]],
  ["croner", ["src/cron/"]],
  ["@modelcontextprotocol/server", ["src/describe/mcp/"]],
  ["@valibot/to-json-schema", ["src/describe/json_schema/"]],
  ["iron-webcrypto", ["src/auth/"]],
  ["jose", ["src/auth/"]],
  ["mime", ["src/http/"]],
  ["swagger-ui-dist", ["src/describe/page/"]],
  ["valibot", ["src/schema/", "src/topics/", "src/binding/", "src/describe/"]],
]);

interface Place {
  tower: number;
  rank: number;
  name: string;
}

/** Imports point to lower layers only; every module has its layer. */
export const importDirection: Deno.lint.Rule = {
  create(context) {
    const self = repositoryPath(context.filename);
    if (!isPublished(self)) return {};
    const own = placeOf(self);
    if (own === null) {
      return {
        Program(node) {
          const message = `${self} belongs to no layer`;
          const hint = "Give it its place in tools/lint/layers.ts";
          context.report({ node, message, hint });
        },
      };
    }
    return importVisitor(({ specifier, node }) => {
      if (specifier === null) {
        const message = "A computed import cannot be given a layer";
        return context.report({ node, message });
      }
      if (specifier.startsWith("@webfw/")) {
        const message = `${self} must not import the package it is part of`;
        return context.report({ node, message });
      }
      if (!isRelative(specifier)) return;
      const target = repositoryPath(
        join(dirname(context.filename), specifier),
      );
      if (COMMON.has(target) || sees(own, placeOf(target))) return;
      const message = `${self} must not import ${target}`;
      const hint = "Imports point to lower layers: see the list in tools/lint/layers.ts";
      context.report({ node, message, hint });
    });
  },
};

/** Each package is imported only where it has its place. */
export const packagePlace: Deno.lint.Rule = {
  create(context) {
    const self = repositoryPath(context.filename);
    if (!isPublished(self)) return {};
    return importVisitor(({ specifier, node }) => {
      if (specifier === null || isRelative(specifier)) return;
      if (/^(?:node:|@webfw\/)/.test(specifier)) return;
      const name = packageName(specifier);
      if (PACKAGES.get(name)?.some((place) => isWithin(self, place))) return;
      const message = `${self} must not import the package ${name}`;
      const hint = "The place of each package is in tools/lint/layers.ts";
      context.report({ node, message, hint });
    });
  },
};

/** Whether a module is part of the published package `@webfw/core`. */
export function isPublished(path: string): boolean {
  return path.startsWith("src/") || ENTRY_POINTS.has(path);
}

/** The path of a file from the root of the repository, with slashes. */
export function repositoryPath(file: string): string {
  return relative(ROOT, file).replaceAll("\\", "/");
}

function placeOf(path: string): Place | null {
  for (const [tower, layers] of TOWERS.entries()) {
    for (const [rank, names] of layers.entries()) {
      const name = names.find((name) => isWithin(path, name));
      if (name !== undefined) return { tower, rank, name };
    }
  }
  return null;
}

function sees(from: Place, to: Place | null): boolean {
  if (to === null) return false;
  if (to.tower !== from.tower) return to.name === "src/client/" && TESTING.has(from.name);
  return to.rank < from.rank || to.name === from.name;
}

function isWithin(path: string, name: string): boolean {
  return name.endsWith("/") ? path.startsWith(name) : path === name;
}

function isRelative(specifier: string): boolean {
  return specifier.startsWith("./") || specifier.startsWith("../");
}

/** `npm:valibot@^1.5.0` and `valibot` are one package. */
function packageName(specifier: string): string {
  const path = specifier.replace(/^(?:npm|jsr):\/?/, "");
  return /^(?:@[^/]+\/)?[^/@]+/.exec(path)?.[0] ?? path;
}
