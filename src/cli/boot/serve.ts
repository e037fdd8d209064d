// How the started program serves an application until it is told to stop. Sent as text: see ../boot.ts.

import { type Address, type App, isWebfwApp } from "./app.ts";
import { fail, failForGood, failWith, watcherIsReady } from "./failure.ts";
import { loadApp } from "./load_app.ts";
import { stopWithParent } from "./parent.ts";
import type { Load, ServePlan } from "./plan.ts";
import { serveFetch } from "./serve_fetch.ts";
import { otherWorkers } from "./workers.ts";

/** Serves the application of a module until a signal stops it, then ends the program. */
export async function serve(load: Load, plan: ServePlan): Promise<never> {
  stopWithParent(plan.parent);
  const app = await loadApp(load, plan);
  const others = otherWorkers(plan);
  let isListening = false;
  const onListen = async (address: Address) => {
    isListening = true;
    await Promise.all([watcherIsReady(plan), others.start(address)]);
    announce(app, address);
  };
  const { hostname, port } = plan;
  const { guests } = others;
  // An earlier version of the framework is told nothing that it does not know.
  const options = { hostname, port, onListen, ...(guests.length > 0 && { reusePort: true }) };
  try {
    if (isWebfwApp(app)) {
      await app.run({ ...options, accessLog: true, ...(guests.length > 0 && { workers: { guests } }) });
    } else await serveFetch(app, options);
  } catch (error) {
    // It has said all, and no line of the program is at fault.
    if (error instanceof Error && error.name === "CannotOpenError") await fail(error.message, plan);
    const obstacle = isListening ? null : findObstacle(hostname, port);
    if (obstacle !== null) {
      failForGood(`Cannot listen on ${hostname}:${port}: ${obstacle}`, plan);
    }
    await failWith(`"${plan.module}" failed`, error, plan);
  }
  if (!await others.ended()) {
    console.error("error: Killed a worker: it did not stop in time");
    Deno.exit(1);
  }
  // In a watcher, timers that the application leaves behind would hold up an exit from within this function.
  return await new Promise(() => setTimeout(() => Deno.exit(0)));
}

/** Tells where the application can be reached. */
export function announce(app: App, { hostname, port }: Address): void {
  const origin = `http://${hostname.includes(":") ? `[${hostname}]` : hostname}:${port}`;
  console.error(`Listening on ${origin}`);
  if (!isWebfwApp(app)) return;
  const { docsUrl } = app;
  if (typeof docsUrl === "string") console.error(`Documentation on ${origin}${docsUrl}`);
}

/** Why the address cannot be listened on; `null` if it can, so that something else has failed. */
export function findObstacle(hostname: string, port: number): string | null {
  try {
    Deno.listen({ hostname, port }).close();
    return null;
  } catch (error) {
    if (error instanceof Deno.errors.AddrInUse) return "the port is in use";
    return error instanceof Error ? error.message : String(error);
  }
}
