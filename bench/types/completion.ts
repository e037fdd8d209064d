// How long an editor waits for the paths of a typed client, compared with the same texts in a file
// without a client.

import { LanguageServer } from "../../tests/types/language_server.ts";
import { clientOf, serverOf } from "./apps/webfw_client.ts";
import { CALLS } from "./client_cost.ts";
import { repeat } from "./apps/generated_app.ts";

/** The routes of the client. */
export const PATHS = 400;

/** Each waits for the paths after a change of the module; the median counts. */
const ROUNDS = 7;

const MARK = "/*?*/";

/** Times of completions in milliseconds. */
export interface CompletionTimes {
  /** Of a path of the client. */
  client: number;
  /** Of a text out of as many, in a file without a client. */
  plain: number;
}

/** Measures both in turns, in one server that knows the routes. */
export async function measureCompletion(): Promise<CompletionTimes> {
  await using server = await LanguageServer.start();
  await server.open("server.ts", serverOf(PATHS));
  const withClient = (round: number) => `${clientOf(PATHS, CALLS)}\nshop.post("/${MARK}", { id: ${round} });`;
  const without = (round: number) =>
    `import type * as api from "./server.ts";
export type Routes = typeof api;
declare function open(path: ${repeat(PATHS, (index) => `| "/resources${index}/{id}"`)}, round: number): void;
open("/${MARK}", ${round});`;
  const times: Record<keyof CompletionTimes, number[]> = { client: [], plain: [] };
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [name, write] of [["client", withClient], ["plain", without]] as const) {
      const start = performance.now();
      const [paths = []] = await server.complete(write(round), MARK);
      const time = performance.now() - start;
      if (paths.length !== PATHS) throw new Error(`The editor is offered ${paths.length} of ${PATHS} paths`);
      // The first of each reads the modules.
      if (round > 0) times[name].push(time);
    }
  }
  return { client: median(times.client), plain: median(times.plain) };
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!;
}
