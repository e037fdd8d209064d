// A node of a run: a process with one consumer. It writes down when each handler begins and ends.

import { App, Discard } from "../../mod.ts";
import type { DeadLetter } from "../../types.ts";
import type { NodePlan, Task } from "./plan.ts";

const plan: NodePlan = JSON.parse(Deno.args[0]!);
const file = Deno.openSync(plan.log, { append: true, create: true });
const encoder = new TextEncoder();

/** Written before the next step, so that it is there if the process is killed. */
function note(kind: "begin" | "done" | "failed" | "aborted", { number }: Task, attempt: number): void {
  const line = { kind, node: plan.name, number, attempt, time: performance.timeOrigin + performance.now() };
  file.writeSync(encoder.encode(`${JSON.stringify(line)}\n`));
}

const app = new App({ topics: plan.topics });
const orders = app.topic<Task>("orders", { durable: true });
app.topic<DeadLetter<Task>>("failed", { durable: true });
orders.consume("mail", {
  concurrency: plan.concurrency,
  lease: plan.lease,
  retry: { attempts: plan.attempts, backoff: 200 },
  deadLetter: "failed",
  from: "earliest",
  ...(plan.hasKeys && { key: ({ data }) => data.key }),
}, async ({ data }, { attempt, signal }) => {
  note("begin", data, attempt);
  signal.addEventListener("abort", () => note("aborted", data, attempt));
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, data.time);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
  signal.throwIfAborted();
  if (data.plan === "throws" || (data.plan === "throws once" && attempt === 1)) {
    note("failed", data, attempt);
    throw new Error("As it was planned");
  }
  if (data.plan === "discards") {
    note("failed", data, attempt);
    throw new Discard("As it was planned");
  }
  note("done", data, attempt);
});

const { promise: stopped, resolve: stop } = Promise.withResolvers<void>();
Deno.addSignalListener("SIGTERM", stop);
await app.start();
await stopped;
await app.stop();
Deno.exit(0);
