// How the started program shows operators what the store of an application's durable topics holds. Sent as text: see ../boot.ts.

import { isWebfwApp, type TopicRow } from "./app.ts";
import { fail, failWith } from "./failure.ts";
import { loadApp } from "./load_app.ts";
import { stopWithParent } from "./parent.ts";
import type { Load, TopicsPlan } from "./plan.ts";
import { followTopic, toPlainJson, toPlainLine, writeOut } from "./follow_topic.ts";

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
    if (plan.tail !== null) await followTopic(app, plan);
    else {
      const topics = await app.reportTopics(after === null ? {} : { after });
      printTopics(topics, after !== null);
      if (tellUnread(topics)) Deno.exit(1);
    }
  } catch (error) {
    // A reader such as "head" has had enough.
    if (error instanceof Deno.errors.BrokenPipe) Deno.exit(0);
    // It may name topics.
    if (error instanceof Error) return await fail(toPlainLine(error.message), plan);
    return await failWith(`Cannot show the topics of "${plan.module}"`, error, plan);
  }
  Deno.exit(0);
}

/** Prints a table, a row for each topic. */
export function printTopics(topics: readonly TopicRow[], hasLag: boolean): void {
  // A name of 256 characters is not to widen the rows of all others.
  const widest = 40;
  const now = Date.now();
  const rows = [
    ["TOPIC", "MESSAGES", "SIZE", "OLDEST", "NEWEST", "RETENTION", ...(hasLag ? ["BEHIND"] : [])],
    ...topics.map((topic) => [...toCells(topic, now), ...(hasLag ? [toLagCell(topic)] : [])]),
  ];
  const widths = rows[0]!.map((_, column) =>
    Math.max(...rows.map((row) => row[column]!.length).filter((length) => length <= widest))
  );
  const lines = rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column]!)).join("  ").trimEnd());
  writeOut(`${lines.join("\n")}\n`);
}

/** What the table has of a topic, but for how far behind a reader is. */
export function toCells(
  { name, messages, bytes, oldest, newest, retention, failure }: TopicRow,
  now: number,
): string[] {
  const counts = [
    `${messages}`,
    toSize(bytes),
    oldest === undefined ? "-" : toAge(now - oldest.getTime()),
    newest === undefined ? "-" : toAge(now - newest.getTime()),
  ];
  const bounds = [
    retention.age === Infinity ? "" : toAge(retention.age),
    retention.count === Infinity ? "" : `${retention.count} messages`,
    retention.bytes === Infinity ? "" : toSize(retention.bytes),
  ];
  return [
    toPlainName(name),
    // Numbers of a part would pass for those of all.
    ...(failure === undefined ? counts : counts.map(() => "-")),
    bounds.filter((bound) => bound !== "").join(", "),
  ];
}

/** What the table has of how far behind a reader is. */
export function toLagCell({ lag }: TopicRow): string {
  if (lag === undefined) return "-";
  const gap = lag.gap === "retention"
    ? ", and some that are gone"
    : lag.gap === "ahead"
    ? ", the topic was set back"
    : "";
  return `${lag.messages}${gap}`;
}

/** Tells of the topics that could not be read, if there are any. */
export function tellUnread(topics: readonly TopicRow[]): boolean {
  const unread = topics.filter(({ failure }) => failure !== undefined);
  for (const { name, failure } of unread) console.error(`error: Topic ${toPlainName(name)}: ${failure}`);
  return unread.length > 0;
}

/** The name of a topic as it is, or as JSON where it has other characters than most. */
export function toPlainName(name: string): string {
  return /^[\w.:/-]+$/.test(name) ? name : toPlainJson(name);
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
