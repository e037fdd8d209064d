// `deno task bench types`: the cost of a route for the type checker, for webfw and other
// frameworks. Check times are only shown. With `--limit`, the instantiations of webfw, which are
// equal on all machines, decide the exit code, and so do those of its typed client.

import { select } from "../command.ts";
import { note } from "../figure.ts";
import { elysia } from "./apps/elysia.ts";
import type { GeneratedApp } from "./apps/generated_app.ts";
import { hono } from "./apps/hono.ts";
import { orpc } from "./apps/orpc.ts";
import { webfw, webfwScopes } from "./apps/webfw.ts";
import { completionLine, measureCompletion } from "./completion.ts";
import { CALLS, type ClientCost, clientExcesses, clientTable, measureClient } from "./client_cost.ts";
import { excesses, type Growth, growth, SIZES } from "./growth.ts";
import { readOptions, USAGE } from "./options.ts";
import { compilerVersion, createProject } from "./project.ts";
import { table } from "./report.ts";
import { type Cost, typeCheck } from "./type_check.ts";

/** Measures, and returns the exit code. */
export async function main(args: string[], signal: AbortSignal): Promise<number> {
  const options = readOptions(args);
  if (options.help) {
    console.log(USAGE);
    return 0;
  }
  const apps = select([webfw, ...webfwScopes, orpc, elysia, hono], options.frameworks);
  const directory = await Deno.makeTempDir({ prefix: "bench_types_" });
  try {
    await createProject(directory);
    console.log(
      `TypeScript ${await compilerVersion(directory)}, applications of ${
        SIZES.join(", ")
      } routes; the cost of one without routes is subtracted\n`,
    );
    const instantiations: Growth[] = [];
    const time: Growth[] = [];
    let servers = new Map<number, Cost>();
    for (const app of apps) {
      const costs = await measure(app, directory, options.rounds, signal);
      if (app === webfw) servers = costs;
      instantiations.push(growth(app.name, costs, "instantiations"));
      time.push(growth(app.name, costs, "time"));
    }
    console.log(table("Instantiations", instantiations, 0));
    for (const { framework, perRoute } of instantiations) {
      const measure = `a route, of ${SIZES.at(-1)}`;
      note({ measure, contestant: framework, value: perRoute.at(-1) ?? NaN, unit: "instantiations", rounds: 1 });
    }
    console.log(table("Check time in ms", time, 1));
    const clients = servers.size > 0 ? await measureClient(servers, directory, signal) : [];
    if (clients.length > 0) console.log(clientTable(clients));
    for (const { routes, perRoute, perCall } of clients) {
      const contestant = `webfw: client of ${routes} routes`;
      const unit = "instantiations";
      note({ measure: `a route, with ${CALLS} calls`, contestant, value: perRoute, unit, rounds: 1 });
      note({ measure: "a further call", contestant, value: perCall, unit, rounds: 1 });
    }
    if (options.completion) {
      const times = await measureCompletion();
      console.log(completionLine(times));
      for (const [file, value] of Object.entries(times)) {
        const contestant = file === "client" ? "webfw: with a client" : "without";
        note({ measure: "completion of a path", contestant, value, unit: "ms", rounds: 1 });
      }
    }
    if (options.json !== undefined) {
      await Deno.writeTextFile(
        options.json,
        JSON.stringify({ instantiations, time, clients }, null, 2),
      );
    }
    return demand(instantiations, clients, options.limit);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

/** Checks an application of every size as often as asked; the fastest check counts. */
async function measure(
  app: GeneratedApp,
  directory: string,
  rounds: number,
  signal: AbortSignal,
): Promise<Map<number, Cost>> {
  const costs = new Map<number, Cost>();
  for (const routes of [0, ...SIZES]) {
    const source = app.source(routes);
    for (let round = 0; round < rounds; round++) {
      const cost = await typeCheck({ "app.ts": source }, directory, signal);
      const fastest = costs.get(routes)?.time ?? Infinity;
      if (cost.time < fastest) costs.set(routes, cost);
    }
  }
  return costs;
}

/** Prints which costs of webfw are above the limit, and returns the exit code. */
function demand(measured: Growth[], clients: ClientCost[], limit: number | undefined): number {
  if (limit === undefined) return 0;
  const names = new Set([webfw, ...webfwScopes].map(({ name }) => name));
  const ours = measured.filter(({ framework }) => names.has(framework));
  const found = ours.length > 0 ? ours.flatMap((growth) => excesses(growth, limit)) : ["webfw was not measured"];
  if (clients.length > 0) found.push(...clientExcesses(clients));
  for (const excess of found) console.error(excess);
  return found.length > 0 ? 1 : 0;
}
