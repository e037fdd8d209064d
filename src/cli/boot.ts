// Makes the program that `deno run` is given: a `data:` URL that imports the user's module. Nothing of the framework is
// imported there, so that the module brings its own version, resolved by its own deno.json, and no line of a lock file
// is due to the command.
//
// The functions of boot/ are written, checked and linted as modules, and sent as text in one scope. They may use the
// platform and one another; a variable of a module would be missing there.

import { isApp, isWebfwApp, protocolOf } from "./boot/app.ts";
import { endOrWait, fail, failForGood, failWith, isFrameOfBoot, isReadable, watcherIsReady } from "./boot/failure.ts";
import { listRoutes } from "./boot/list_routes.ts";
import { loadApp } from "./boot/load_app.ts";
import { failToLoad, hasRun } from "./boot/load_failure.ts";
import { stopWithParent } from "./boot/parent.ts";
import { followTopic, openTopic, toPlainJson, toPlainLine, writeOut } from "./boot/follow_topic.ts";
import {
  printTopics,
  showTopics,
  tellUnread,
  toAge,
  toCells,
  toLagCell,
  toPlainName,
  toSize,
} from "./boot/show_topics.ts";
import type { Plan, ServePlan, TopicsPlan } from "./boot/plan.ts";
import { printDocument } from "./boot/print_document.ts";
import { announce, findObstacle, serve } from "./boot/serve.ts";
import { logAccess, serveFetch } from "./boot/serve_fetch.ts";
import { otherWorkers, serveInWorker } from "./boot/workers.ts";

const SCOPE = [
  announce,
  endOrWait,
  fail,
  failForGood,
  failToLoad,
  failWith,
  findObstacle,
  followTopic,
  hasRun,
  isApp,
  isFrameOfBoot,
  isReadable,
  isWebfwApp,
  listRoutes,
  loadApp,
  logAccess,
  openTopic,
  otherWorkers,
  printDocument,
  printTopics,
  protocolOf,
  serve,
  serveFetch,
  serveInWorker,
  showTopics,
  stopWithParent,
  tellUnread,
  toAge,
  toCells,
  toLagCell,
  toPlainJson,
  toPlainLine,
  toPlainName,
  toSize,
  watcherIsReady,
  writeOut,
].join("\n");

/** The program that serves a module's application. */
export function servingProgram(specifier: string, plan: Omit<ServePlan, "workerProgram">): string {
  const workerProgram = plan.workers > 1 ? program(serveInWorker.name, specifier, plan) : "";
  return program(serve.name, specifier, { ...plan, workerProgram } satisfies ServePlan);
}

/** The program that prints the routes of a module's application. */
export function listingProgram(specifier: string, plan: Plan): string {
  return program(listRoutes.name, specifier, plan);
}

/** The program that prints the OpenAPI document of a module's application. */
export function documentProgram(specifier: string, plan: Plan): string {
  return program(printDocument.name, specifier, plan);
}

/** The program that shows the topics of a module's application. */
export function topicsProgram(specifier: string, plan: TopicsPlan): string {
  return program(showTopics.name, specifier, plan);
}

function program(entry: string, specifier: string, plan: Plan | ServePlan): string {
  // Only an import of a literal belongs to the module graph: it needs no permission to read, and is watched.
  const load = `() => import(${JSON.stringify(specifier)})`;
  const call = `await ${entry}(${load}, ${JSON.stringify(plan)});`;
  // The program beside which the application keeps its files is the user's module, and not this text.
  const main = `globalThis[Symbol.for("webfw.main")] = ${JSON.stringify(specifier)};`;
  return `data:text/javascript,${encodeURIComponent(`${SCOPE}\n${main}\n${call}`)}`;
}
