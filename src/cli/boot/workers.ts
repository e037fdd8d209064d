// How the started program serves with more than one thread: the first worker is the program itself, the others do as it does, at
// the port that it has got. Each hears the signals of the system, and stops by itself. Sent as text: see ../boot.ts.

import { type Address, isWebfwApp } from "./app.ts";
import { loadApp } from "./load_app.ts";
import type { Load, ServePlan } from "./plan.ts";
import { serveFetch } from "./serve_fetch.ts";

/** What the first worker tells another one. */
export interface WorkerStart {
  /** Where it has to listen. */
  readonly address: Address;
  /** The port over which it shares what topics keep in memory. */
  readonly host: MessagePort;
}

/** The other workers, as the first one has them. */
export interface OtherWorkers {
  /** One end of a port to each of them. */
  readonly guests: readonly MessagePort[];
  /** Starts them, and waits until they listen. */
  start(address: Address): Promise<void>;
  /** Waits until they have ended. Gives whether they have. */
  ended(): Promise<boolean>;
}

/** Prepares the workers beside the first one. */
export function otherWorkers({ workers, workerProgram }: ServePlan): OtherWorkers {
  // Those that wait for requests in flight have had their time when the first one has ended.
  const patienceMs = 2_000;
  const channels = Array.from({ length: workers - 1 }, () => new MessageChannel());
  const ends: Promise<unknown>[] = [];
  return {
    guests: channels.map(({ port1 }) => port1),
    async start(address) {
      const starts = channels.map(({ port2 }) => {
        const [listening, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
        // What nothing catches in it ends the program, with the stack on stderr.
        const worker = new Worker(workerProgram, { type: "module", name: "webfw" });
        worker.onmessage = ({ data }) => (data === "listening" ? listening : ended).resolve();
        worker.postMessage({ address, host: port2 } satisfies WorkerStart, [port2]);
        ends.push(ended.promise);
        return listening.promise;
      });
      await Promise.all(starts);
    },
    ended() {
      const late = new Promise<boolean>((resolve) => Deno.unrefTimer(setTimeout(() => resolve(false), patienceMs)));
      return Promise.race([Promise.all(ends).then(() => true), late]);
    },
  };
}

/** Serves in a worker that is not the first. */
export async function serveInWorker(load: Load, plan: ServePlan): Promise<void> {
  const scope = globalThis as unknown as {
    onmessage: (event: MessageEvent<WorkerStart>) => void;
    postMessage(message: "listening" | "ended"): void;
  };
  const { address, host } = await new Promise<WorkerStart>((resolve) => {
    scope.onmessage = ({ data }) => resolve(data);
  });
  const app = await loadApp(load, plan);
  const options = { ...address, reusePort: true, onListen: () => scope.postMessage("listening") };
  if (isWebfwApp(app)) await app.run({ ...options, accessLog: true, workers: { host } });
  else await serveFetch(app, options);
  scope.postMessage("ended");
}
