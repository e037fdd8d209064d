// How long an editor takes to offer the paths of a typed client, compared with the same file without
// the client. It is shown, and decides nothing.

import { LanguageServer } from "../../../tests/compiler/language_server.ts";
import { median } from "../http/statistics.ts";
import { repeat } from "./apps/generated_app.ts";
import { clientOf, serverOf } from "./apps/webfw_client.ts";
import { CALLS } from "./client_cost.ts";

/** The routes of the server. */
const ROUTES = 400;

/** Completions of each file, of which the median counts. Each one follows a change. */
const ROUNDS = 5;

const MARK = "/*?*/";

/** The files in which a path is completed. Both import the types of the server. */
const FILES = {
  client: (round: number) => `${clientOf(ROUTES, CALLS)}\nshop.post("/${MARK}", { id: ${round} });`,
  without: (round: number) => `
import type * as api from "./server.ts";
export type Server = typeof api;
declare function open(path: ${repeat(ROUTES, (index) => `| "/resources${index}/{id}"`)}, round: number): void;
open("/${MARK}", ${round});`,
};

/** Times of a completion in milliseconds. */
export type CompletionTimes = Record<keyof typeof FILES, number>;

/** Measures the files in turns, in one language server. */
export async function measureCompletion(): Promise<CompletionTimes> {
  await using server = await LanguageServer.start();
  await server.open("server.ts", serverOf(ROUTES));
  const timeOf = async (file: string) => {
    const start = performance.now();
    const [paths = []] = await server.complete(file, MARK);
    if (paths.length !== ROUTES) throw new Error(`The editor offers ${paths.length} of ${ROUTES} paths`);
    return performance.now() - start;
  };
  const times = { client: [] as number[], without: [] as number[] };
  for (let round = 0; round <= ROUNDS; round++) {
    for (const name of ["client", "without"] as const) {
      const time = await timeOf(FILES[name](round));
      // The first round reads the modules of the framework.
      if (round > 0) times[name].push(time);
    }
  }
  return { client: median(times.client), without: median(times.without) };
}

/** What is printed of the times. */
export function completionLine({ client, without }: CompletionTimes): string {
  return `Completion of one of ${ROUTES} paths after a change: ${Math.round(client)} ms in a file with a client, ` +
    `${Math.round(without)} ms without, ${(client / without).toFixed(2)} times\n`;
}
