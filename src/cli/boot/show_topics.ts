// How the started program shows operators what the store of an application's durable topics holds. Sent as text: see ../boot.ts.

import { isWebfwApp, type TopicRow } from "./app.ts";
import { fail, failWith } from "./failure.ts";
import { loadApp } from "./load_app.ts";
import { stopWithParent } from "./parent.ts";
import type { Load, TopicsPlan } from "./plan.ts";
import { followTopic, toPlainJson, writeOut } from "./follow_topic.ts";

/** Lists the topics, or prints the messages of one as they come. */
export async function showTopics(load: Load, plan: TopicsPlan): Promise<never> {
  stopWithParent(plan.parent);
  // What the module prints goes to stderr: stdout has the topics alone.
  for (const method of ["log", "info", "debug", "table", "dir"] as const) console[method] = console.error;
  // A path that was mistyped must not become a store without topics.
  Reflect.set(globalThis, Symbol.for("webfw.onlyLooks"), true);
  const app = await loadApp(load, plan);
  const { after } = plan;
  if (!isWebfwApp(app) || app.reportTopics === undefined) {
    return await fail(`Cannot show the topics of "${plan.module}": it is no App that has any`, plan);
  }
  try {
    if (plan.tail === null) printTopics(await app.reportTopics(after === null ? {} : { after }), after !== null);
    else await followTopic(app, plan);
  } catch (error) {
    // A reader such as "head" has had enough.
    if (error instanceof Deno.errors.BrokenPipe) Deno.exit(0);
    if (error instanceof Error) return await fail(error.message, plan);
    return await failWith(`Cannot show the topics of "${plan.module}"`, error, plan);
  }
  Deno.exit(0);
}

/** Prints a table, a row for each topic. */
export function printTopics(topics: readonly TopicRow[], hasLag: boolean): void {
  const now = Date.now();
  const rows = [["TOPIC", "MESSAGES", "SIZE", "OLDEST", "NEWEST", "RETENTION", ...(hasLag ? ["BEHIND"] : [])]];
  for (const { name, messages, bytes, oldest, newest, retention, lag } of topics) {
    const bounds = [
      retention.age === Infinity ? "" : toAge(retention.age),
      retention.count === Infinity ? "" : `${retention.count} messages`,
      retention.bytes === Infinity ? "" : toSize(retention.bytes),
    ];
    const gap = lag?.gap === "retention"
      ? ", and some that are gone"
      : lag?.gap === "ahead"
      ? ", the topic was set back"
      : "";
    rows.push([
      /^[\w.:/-]+$/.test(name) ? name : toPlainJson(name),
      `${messages}`,
      toSize(bytes),
      oldest === undefined ? "-" : toAge(now - oldest.getTime()),
      newest === undefined ? "-" : toAge(now - newest.getTime()),
      bounds.filter((bound) => bound !== "").join(", "),
      ...(hasLag ? [lag === undefined ? "-" : `${lag.messages}${gap}`] : []),
    ]);
  }
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const lines = rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column]!)).join("  ").trimEnd());
  writeOut(`${lines.join("\n")}\n`);
}

/** A time span in its largest unit. */
export function toAge(ms: number): string {
  const units = [[86_400_000, "d"], [3_600_000, "h"], [60_000, "min"]] as const;
  for (const [size, unit] of units) if (ms >= size) return `${Math.floor(ms / size)} ${unit}`;
  return `${Math.max(0, Math.floor(ms / 1_000))} s`;
}

/** A number of bytes in its largest unit. */
export function toSize(bytes: number): string {
  const units = [[2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]] as const;
  for (const [size, unit] of units) {
    if (bytes >= size) return `${(bytes / size).toFixed(1).replace(/\.0$/, "")} ${unit}`;
  }
  return `${bytes} B`;
}
