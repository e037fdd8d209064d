// A node of a run: a process with one consumer. It writes down when each handler begins and ends.

import { App, type DeadLetter, Discard } from "../../../mod.ts";
import { NodeProcess } from "../work/node.ts";
import type { ConsumerPlan, HandlerLine, Task } from "./plan.ts";

/** The lease of a node that takes messages from others that live, in milliseconds. */
const HASTY_LEASE = 1_000;
/** How long its handlers take, so that it has room for them again and again. */
const HASTY_TIME = 200;
/** How much more often a stubborn node tries. */
const STUBBORN = 2;

const node = new NodeProcess<ConsumerPlan>();
const { plan } = node;

function note(kind: HandlerLine["kind"], { number }: Task, attempt: number): void {
  node.note({ kind, number, attempt });
}

const app = new App({ topics: plan.topics });
const orders = app.topic<Task>("orders", { durable: true });
app.topic<DeadLetter<Task>>("failed", { durable: true });
orders.consume("mail", {
  concurrency: plan.concurrency,
  lease: plan.flaw === "hasty" ? HASTY_LEASE : plan.lease,
  retry: { attempts: plan.flaw === "stubborn" ? plan.attempts + STUBBORN : plan.attempts, backoff: 200 },
  from: "earliest",
  ...(plan.flaw !== "mute" && { deadLetter: "failed" }),
  ...(plan.hasKeys && { key: ({ data }) => data.key }),
}, async ({ data }, { attempt, signal }) => {
  if (plan.flaw === "forgetful" && data.number % 7 === 0) return;
  note("begin", data, attempt);
  signal.addEventListener("abort", () => note("aborted", data, attempt));
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, plan.flaw === "hasty" ? HASTY_TIME : data.time);
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

// A start ends where the store does not answer for 10 s. Whatever runs the program starts it again.
while (!await app.start().then(() => true, () => false));
node.note({ kind: "ready" });
await node.stopped;
await app.stop();
Deno.exit(0);
