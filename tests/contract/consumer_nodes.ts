/** Nodes with a consumer that share a store on the network, for tests. */
import { assert, assertEquals } from "@std/assert";
import { App } from "@webfw/core";
import type { ConsumeOptions } from "@webfw/core/types";
import { ticks } from "../spec/support/ticks.ts";

export const DURABLE = { durable: true, retention: { bytes: 1e7 } } as const;

export type Handler = (data: number, context: { readonly attempt: number; readonly signal: AbortSignal }) => unknown;

/** A node with a consumer "mail" of the topic "orders". */
export function nodeOf(topics: string, handler: Handler, options: ConsumeOptions<number> = {}) {
  const app = new App({ topics });
  const orders = app.topic<number>("orders", DURABLE);
  // The servers of a busy machine may answer only after the start.
  orders.consume("mail", { from: "earliest", ...options }, ({ data }, context) => handler(data, context));
  return { app, orders };
}

/** Waits until something is so. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!await isSo()) await ticks(5);
}

/** The integers from 0 to a count. */
export function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}

/** Numbers in ascending order. */
export function sorted(numbers: readonly number[]): number[] {
  return numbers.toSorted((one, other) => one - other);
}

/** A handler's hold on a message. */
export interface Hold {
  readonly node: string;
  readonly data: number;
  readonly signal: AbortSignal;
  isOver: boolean;
}

/** Checks what handlers on several nodes may do: no message is held by two of them that may go on. */
export class Holds {
  readonly all: Hold[] = [];
  /** What was handled, at least once. */
  readonly handled = new Set<number>();
  /** What must not happen. */
  readonly faults: string[] = [];

  /** A handler that goes on until `isSlow` gives false, or its signal is aborted. */
  handler(node: string, isSlow: () => boolean): Handler {
    return async (data, { attempt, signal }) => {
      if (attempt > 1) this.faults.push(`An abort for the lease counted as a try of ${data}`);
      const others = this.all.filter((hold) => hold.data === data && !hold.isOver && !hold.signal.aborted);
      for (const other of others) this.faults.push(`${node} has ${data}, and ${other.node} has it still`);
      const hold: Hold = { node, data, signal, isOver: false };
      this.all.push(hold);
      while (isSlow() && !signal.aborted) await ticks(5);
      hold.isOver = true;
      signal.throwIfAborted();
      this.handled.add(data);
    };
  }

  of(node: string): Hold[] {
    return this.all.filter((hold) => hold.node === node);
  }
}

/**
 * Three nodes share the messages, and each is handled, also if the server is killed. Returns the
 * nodes, which still run.
 */
export async function shareMessages(
  server: { readonly url: string; kill(): Promise<void>; startAgain(): Promise<void> },
): Promise<ReturnType<typeof nodeOf>[]> {
  const seen: [node: number, data: number][] = [];
  const nodes = upTo(3).map((node) =>
    nodeOf(server.url, async (data) => {
      await ticks(2);
      seen.push([node, data]);
    }, { concurrency: 2 })
  );
  await Promise.all(nodes.map(({ app }) => app.start()));
  const publish = (from: number, to: number) =>
    Promise.all(upTo(to - from).map((index) => nodes[index % 3]!.orders.publish(from + index)));
  await publish(0, 150);
  const handled = () => new Set(seen.map(([, data]) => data));
  await until(() => handled().size >= 150);
  await server.kill();
  await server.startAgain();
  await publish(150, 300);
  await until(() => handled().size >= 300);
  assertEquals(sorted([...handled()]), upTo(300));
  assert(new Set(seen.map(([node]) => node)).size > 1);
  return nodes;
}
