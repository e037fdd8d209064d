// `deno task bench sql`: durable topics in PostgreSQL and SQLite compared with bare inserts, users'
// transactions with and without a message, and the delay until another process gets a message.
// Figures never decide the exit code; a missing message does.

import { parseArgs } from "@std/cli/parse-args";
import { App, type Topic } from "../../../mod.ts";
import { readCount, refuseUnknown } from "../command.ts";
import { compareRates, type Contestant, isSingle } from "../durable_topics/rates.ts";
import { type Database, openPostgres, openSqlite } from "./databases.ts";
import { measureDelivery } from "./delivery.ts";
import { measureHolds, measureWaits } from "./waits.ts";

const USAGE = `Compares durable topics in PostgreSQL and SQLite with bare inserts of a row.

Options:
  --rounds <n>      rounds (default 5), in which contestants take turns in random order
  --messages <n>    messages of a publisher in a round (default 200)
  --only <name>     postgres or sqlite
  --quick           one round of 20 messages
  --help            print this text`;

const DATA = "x".repeat(198);

/** Measures, and returns the exit code. */
export async function main(args: string[], signal: AbortSignal): Promise<number> {
  const parsed = parseArgs(args, {
    string: ["rounds", "messages", "only"],
    boolean: ["quick", "help"],
    unknown: refuseUnknown,
  });
  if (parsed.help) {
    console.log(USAGE);
    return 0;
  }
  const rounds = readCount(parsed.rounds ?? (parsed.quick ? "1" : "5"));
  const messages = readCount(parsed.messages ?? (parsed.quick ? "20" : "200"));
  let faults = 0;
  for (const [name, open] of [["postgres", openPostgres], ["sqlite", openSqlite]] as const) {
    if (parsed.only !== undefined && parsed.only !== name) continue;
    await using database = await open();
    console.log(`${database.name}; ${DATA.length} bytes; ${rounds} rounds\n`);
    const app = new App({ topics: database.topics });
    const topic = app.topic<unknown>("bench", { durable: true });
    await app.start();
    const compare = (measure: string, reference: string, contestants: Contestant[]) =>
      compareRates({ measure: `${database.name}: ${measure}`, reference, contestants, rounds, messages }, signal);
    const all = contestants(database, topic);
    await compare("publish", ONE, all.filter(isSingle));
    await compare("publish at once", MANY, all.filter((each) => !isSingle(each)));
    await compare("transactions", PLAIN, transactions(database, topic));
    await measureWaits(database, topic, rounds);
    await measureHolds(database, topic, rounds);
    for (const isInTransaction of [false, true]) {
      const fault = await measureDelivery(database, isInTransaction, messages);
      if (fault === undefined) continue;
      console.error(`  FAULT ${fault}`);
      faults++;
    }
    console.log();
    await app.stop();
  }
  return faults === 0 ? 0 : 1;
}

const ONE = "bare inserts, one after another";
const MANY = "bare inserts, 64 at once";
const PLAIN = "transactions with a row, 16 at once";

function contestants({ insert }: Database, topic: Topic<unknown>): Contestant[] {
  const publish = () => topic.publish(DATA);
  const withId = () => topic.publish(DATA, { id: crypto.randomUUID() });
  return [
    { name: ONE, publishers: 1, publish: () => insert(DATA) },
    { name: "publish, one publisher", publishers: 1, publish },
    { name: "publish, one publisher, with ids", publishers: 1, publish: withId },
    { name: MANY, publishers: 64, publish: () => insert(DATA) },
    { name: "publish, 64 publishers", publishers: 64, publish },
    { name: "publish, 64 publishers, with ids", publishers: 64, publish: withId },
  ];
}

function transactions({ name, transaction }: Database, topic: Topic<unknown>): Contestant[] {
  // A connection of SQLite has one transaction at a time.
  const publishers = name === "SQLite" ? 1 : 16;
  return [
    { name: PLAIN, publishers, publish: () => transaction(DATA) },
    {
      name: "with a row and a message, 16 at once",
      publishers,
      publish: () => transaction(DATA, (transaction) => topic.publish(DATA, { transaction })),
    },
  ];
}
