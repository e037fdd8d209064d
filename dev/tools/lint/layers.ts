// The layers of the framework, and the rules that keep its imports pointing
// down: one between the layers, one for packages from outside.

import { dirname, join, relative } from "node:path";
import { importVisitor } from "./imports.ts";

const ROOT = join(import.meta.dirname!, "..", "..", "..");

/** A folder of the framework, and what it holds. `mod.ts` alone is a file. */
type Room = readonly [folder: string, holds: string];

/**
 * The framework, from its lowest floor to its highest. A module imports only from its own folder and
 * from lower floors. `CONTRIBUTING.md` prints this list.
 */
export const FLOORS: readonly (readonly Room[])[] = [
  [[
    "src/base/",
    "errors, checks of options, durations, clocks, services, JSON data, the async context of requests, the runtime",
  ]],
  [
    ["src/log/", "the log, the text of its entries, secrets in them, spans of OpenTelemetry"],
    ["src/schema/", "validation and conversion by valibot schemas; environment variables"],
  ],
  [[
    "src/store/",
    "logs and records: in memory, in Deno KV (`kv/`), in NATS JetStream (`jetstream/`), in SQL (`sql/`)",
  ]],
  [["src/topics/", "messages, publishing, subscriptions; independent of HTTP"]],
  [["src/http/", "requests, bodies, replies, cookies, files, events, WebSockets; hosts, origins, proxies"]],
  [
    ["src/binding/", "dependencies and guards; makes the arguments of a handler from a request"],
    ["src/work/", "consumers of topics and crons, on one of all nodes"],
  ],
  [
    ["src/auth/", "the guards of @webfw/core/auth: tokens, passwords, keys, sessions"],
    ["src/idempotency/", "requests that run once for each Idempotency-Key"],
    ["src/rate_limit/", "limits on how often clients send requests"],
  ],
  [["src/webhooks/", "the webhooks that an application sends"]],
  [["src/routing/", "paths, routes, scopes, the route table, middleware, the pipeline"]],
  [
    ["src/describe/", "OpenAPI, AsyncAPI, JSON Schema, the documentation page, the endpoint for agents"],
    ["src/middleware/", "the middleware of @webfw/core/middleware"],
    ["src/server/", "sockets, signals, readiness, and how a server stops"],
  ],
  [["src/app/", "App and Router, the lifecycle, the built-in endpoints"]],
  [["src/board/", "the board: records requests, and shows them with messages and work"]],
  [
    ["src/testing/", "the test client"],
    ["src/types/", "types that the compiler infers"],
    ["mod.ts", "the entry point"],
  ],
];

/** The command line, and the client that browsers load: neither imports the framework. */
const APART: readonly Room[] = [
  ["src/cli/", "the commands; they start an application in another process, by `runner/`"],
  ["cli.ts", "its entry point"],
  ["src/client/", "the typed client: calls, events, WebSockets, and the types of their routes"],
];

const TOWERS: readonly (readonly (readonly string[])[])[] = [
  FLOORS.map((rooms) => rooms.map(([folder]) => folder)),
  [["src/cli/"], ["cli.ts"]],
  [["src/client/"]],
];

/** The list of all folders as `CONTRIBUTING.md` prints it, the highest floor first. */
export function listOfFloors(): string {
  const line = ([folder, holds]: Room) => `${folder.padEnd(18)}${holds}`;
  const floors = FLOORS.toReversed().map((rooms) => rooms.map(line).join("\n"));
  return `${floors.join("\n\n")}\n\n${APART.map(line).join("\n")}\n`;
}

/** What all towers may import: the version, the check of options, and the writing of addresses. */
const COMMON: ReadonlySet<string> = new Set(["deno.json", "src/base/address.ts", "src/base/options.ts"]);

/** Tests of an application use the client. */
const TESTING = "src/testing/";

/** Where each package may be imported. */
const PACKAGES: ReadonlyMap<string, readonly string[]> = new Map([
  ["@std/cli", ["src/cli/", "cli.ts"]],
  ["@std/http", ["src/base/", "src/http/", "src/describe/"]],
  ["@fastify/busboy", ["src/http/"]],
  ["croner", ["src/work/"]],
  ["@modelcontextprotocol/server", ["src/describe/"]],
  ["@valibot/to-json-schema", ["src/describe/"]],
  ["iron-webcrypto", ["src/auth/"]],
  ["jose", ["src/auth/"]],
  ["mime", ["src/http/"]],
  ["swagger-ui-dist", ["src/describe/"]],
  ["valibot", ["src/schema/", "src/topics/", "src/binding/", "src/describe/", "src/board/"]],
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
          const hint = "Give it its place in dev/tools/lint/layers.ts";
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
      const hint = "Imports point to lower layers: see the list in dev/tools/lint/layers.ts";
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
      const hint = "The place of each package is in dev/tools/lint/layers.ts";
      context.report({ node, message, hint });
    });
  },
};

/** Whether a module is part of the published package `@webfw/core`. */
export function isPublished(path: string): boolean {
  return path.startsWith("src/") || path === "mod.ts" || path === "cli.ts";
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
  if (to.tower !== from.tower) return to.name === "src/client/" && from.name === TESTING;
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
