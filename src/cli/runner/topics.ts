/** Lists and follows durable topics. Sent as source: see runner.ts. */

import { InspectRunner } from "./inspect.ts";
import type { ConsumerReport, CronReport, Redelivery, RunnerOptions, Topic, TopicReport, WebfwApp } from "./runner.ts";

export interface TopicsOptions extends RunnerOptions {
  /** `null` lists all topics. */
  readonly tail: string | null;
  readonly from: "now" | "earliest";
  /** A message id to start after, or to count from. */
  readonly after: string | null;
  /** Whether to print the SQL that makes the tables. */
  readonly schema: boolean;
  /** What to do with a consumer, and its name. */
  readonly change: { readonly action: ConsumerAction; readonly name: string } | null;
}

export type ConsumerAction = "pause" | "resume" | "retry" | "redrive" | "remove";

export class TopicsRunner extends InspectRunner<TopicsOptions> {
  protected override readonly task = "show the topics of";

  protected override async print(app: WebfwApp): Promise<void> {
    const { tail, schema, change } = this.options;
    try {
      if (schema) await this.#printSchema(app);
      else if (change !== null) await this.#change(app, change.action, change.name);
      else await (tail === null ? this.#list(app) : this.#follow(app, tail));
    } catch (error) {
      if (!(error instanceof Error) || error instanceof Deno.errors.BrokenPipe) throw error;
      // The message may contain names from clients.
      await this.fail(this.#escape(error.message));
    }
  }

  override run(): Promise<void> {
    // A mistyped path must not create an empty store.
    this.command.readsOnly = true;
    return super.run();
  }

  async #printSchema(app: WebfwApp): Promise<void> {
    const { storeSchema } = this.protocolOf(app);
    if (!storeSchema) throw new Error("Cannot print the schema: this version of @webfw/core has no stores in SQL");
    this.write(await storeSchema());
  }

  async #list(app: WebfwApp): Promise<void> {
    const { after } = this.options;
    const { topics, crons } = await app.reportTopics(after === null ? {} : { after });
    const now = Date.now();
    const hasLag = after !== null;
    const hasScheduled = topics.some(({ scheduled = 0 }) => scheduled > 0);
    // A name may have 256 characters.
    const widest = 40;
    this.writeTable([
      [
        "TOPIC",
        "MESSAGES",
        "SIZE",
        "OLDEST",
        "NEWEST",
        "RETENTION",
        ...(hasScheduled ? ["SCHEDULED"] : []),
        ...(hasLag ? ["BEHIND"] : []),
      ],
      ...topics.map((topic) => [
        ...this.#cells(topic, now),
        ...(hasScheduled ? [`${topic.scheduled}`] : []),
        ...(hasLag ? [this.#lagCell(topic)] : []),
      ]),
    ], widest);
    this.#listConsumers(topics, widest);
    this.#listCrons(crons, widest);
    const unread = topics.filter(({ failure }) => failure !== undefined);
    for (const { name, failure = "" } of unread) {
      console.error(`error: Topic ${this.#quoteName(name)}: ${this.#escape(failure)}`);
    }
    if (unread.length > 0) Deno.exit(1);
  }

  #listCrons(crons: readonly CronReport[], widest: number): void {
    if (crons.length === 0) return;
    this.write("\n");
    const time = (date: Date | undefined) => date === undefined ? "-" : date.toISOString().slice(0, 16) + "Z";
    this.writeTable([
      ["CRON", "SCHEDULE", "ZONE", "NEXT", "LAST", "RUNS", "FAILED", "SKIPPED", "STATE"],
      ...crons.map(({ name, schedule, timeZone, next, last, running, runs, failures, skipped }) => [
        name,
        schedule,
        timeZone,
        time(next),
        time(last?.scheduled),
        `${runs}`,
        `${failures}`,
        `${skipped}`,
        running === undefined ? "waiting" : `running since ${time(running.began)}`,
      ]),
    ], widest);
    for (const { name, lastError } of crons) {
      if (lastError) this.write(`${name}: failed at ${time(lastError.at)}: ${this.#escape(lastError.error)}\n`);
    }
  }

  /** A line of JSON each, until a signal. */
  async #follow(app: WebfwApp, name: string): Promise<void> {
    const { from, after } = this.options;
    // Throws if there is no durable topic of this name, with the nearest name.
    await this.protocolOf(app).checkTopic(name);
    const topic = this.#openTopic(app, name);
    const subscription = topic.subscribe(after === null ? { from } : { after });
    // From here on no message is missed, so the user may publish after the line below.
    await subscription.cursor();
    // This id is the position before the first message.
    const isEmpty = /-0+$/.test(await topic.head());
    if (isEmpty) console.error(`The topic ${this.#toJson(name)} is empty: waiting`);
    for await (const entry of subscription) {
      if ("gap" in entry) this.write(`${this.#toJson(entry)}\n`);
      else {
        const { id, time, type, data } = entry;
        this.write(`${this.#toJson({ id, time, type, data })}\n`);
      }
    }
  }

  #listConsumers(topics: readonly TopicReport[], widest: number): void {
    const rows = topics.flatMap(({ name, consumers = [] }) => consumers.map((one) => this.#consumerCells(name, one)));
    if (rows.length === 0) return;
    this.write("\n");
    this.writeTable(
      [["CONSUMER", "POSITION", "LAG", "IN FLIGHT", "FAILED", "LOST", "PAUSED", "LAST ERROR"], ...rows],
      widest,
    );
  }

  async #change({ consumers }: WebfwApp, action: ConsumerAction, name: string): Promise<void> {
    if (action === "retry" || action === "redrive") return this.#printRedelivery(await consumers[action](name));
    await consumers[action](name);
    const done = { pause: "is paused on all nodes", resume: "is resumed", remove: "is removed" };
    this.write(`The consumer ${this.#quoteName(name)} ${done[action]}\n`);
  }

  #printRedelivery({ redelivered, gone }: Redelivery): void {
    this.write(`${redelivered === 1 ? "1 message is" : `${redelivered} messages are`} redelivered\n`);
    for (const id of gone) console.error(`error: Message ${this.#escape(id)} is no longer kept`);
    if (gone.length > 0) Deno.exit(1);
  }

  #openTopic(app: WebfwApp, name: string): Topic {
    try {
      return app.topic(name, { durable: true });
    } catch (error) {
      if (!(error instanceof TypeError) || !error.message.includes("its durable is another one")) throw error;
      throw new TypeError(
        `Cannot follow "${name}": it is not durable, and no other process can read its messages in memory`,
      );
    }
  }

  #cells({ name, messages, bytes, oldest, newest, retention, failure }: TopicReport, now: number): string[] {
    const counts = [
      `${messages}`,
      this.#size(bytes),
      oldest === undefined ? "-" : this.#age(now - oldest.getTime()),
      newest === undefined ? "-" : this.#age(now - newest.getTime()),
    ];
    const bounds = [
      retention.age === Infinity ? "" : this.#age(retention.age),
      retention.count === Infinity ? "" : `${retention.count} messages`,
      retention.bytes === Infinity ? "" : this.#size(retention.bytes),
    ];
    return [
      this.#quoteName(name),
      // The counts of a part would look like those of the whole topic.
      ...(failure === undefined ? counts : counts.map(() => "-")),
      bounds.filter((bound) => bound !== "").join(", "),
    ];
  }

  #consumerCells(topic: string, consumer: ConsumerReport): string[] {
    const { name, position, lag, inFlight, failures, lost, lastError, paused } = consumer;
    return [
      this.#quoteName(`${topic}/${name}`),
      position === "" ? "-" : position,
      lag === 0 ? "-" : this.#age(lag),
      `${inFlight}`,
      `${failures}`,
      `${lost}`,
      paused === undefined ? "-" : `since ${paused.toISOString().slice(0, 16)}Z`,
      lastError === undefined ? "-" : this.#escape(lastError),
    ];
  }

  #lagCell({ lag }: TopicReport): string {
    if (lag === undefined) return "-";
    const gaps = { retention: ", and deleted ones", ahead: ", the topic was restored from a backup" };
    return `${lag.messages}${lag.gap === undefined ? "" : gaps[lag.gap]}`;
  }

  #age(ms: number): string {
    const units = [[86_400_000, "d"], [3_600_000, "h"], [60_000, "min"]] as const;
    for (const [size, unit] of units) if (ms >= size) return `${Math.floor(ms / size)} ${unit}`;
    return `${Math.max(0, Math.floor(ms / 1_000))} s`;
  }

  #size(bytes: number): string {
    const units = [[2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]] as const;
    for (const [size, unit] of units) {
      if (bytes >= size) return `${(bytes / size).toFixed(1).replace(/\.0$/, "")} ${unit}`;
    }
    return `${bytes} B`;
  }

  /** As JSON if it has unusual characters. */
  #quoteName(name: string): string {
    return /^[\w.:/-]+$/.test(name) ? name : this.#toJson(name);
  }

  #toJson(value: unknown): string {
    return this.#escape(JSON.stringify(value));
  }

  /** Names and data come from clients. */
  #escape(text: string): string {
    // deno-lint-ignore no-control-regex
    const unsafe = /[\0-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;
    return text.replace(unsafe, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
  }
}
