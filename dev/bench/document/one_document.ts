// A process that makes one document, and writes the figures as a line of JSON.

import { select } from "../command.ts";
import { median } from "../http/statistics.ts";
import { APPLICATIONS } from "./applications.ts";

/** The times of one process, in milliseconds. */
export interface Sample {
  /** Of the registration of all routes. */
  registration: number;
  /** Of the document, made for the first time right after that. */
  document: number;
  /** Of writing the document as JSON, warm. */
  writing: number;
  /** The length of that text. */
  length: number;
}

const WARM_ROUNDS = 30;

function sample(name: string, routes: number): Sample {
  const [application] = select(APPLICATIONS, [name]);
  const [app, registration] = timed(() => application!.make(routes));
  const [document, time] = timed(() => app.openapi());
  const rounds = Array.from({ length: WARM_ROUNDS }, () => timed(() => JSON.stringify(document)));
  const [text] = rounds[0]!;
  return { registration, document: time, writing: median(rounds.map(([, time]) => time)), length: text.length };
}

function timed<Result>(run: () => Result): [result: Result, time: number] {
  const start = performance.now();
  const result = run();
  return [result, performance.now() - start];
}

if (import.meta.main) {
  const [name = "", routes = ""] = Deno.args;
  console.log(JSON.stringify(sample(name, Number(routes))));
}
