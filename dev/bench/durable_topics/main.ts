// `deno task bench durable`: durable topics on a real denokv compared with bare commits of Deno KV,
// NATS compared with denokv, TLS with plain HTTP, and the delay until another node gets a message.
// Figures never decide the exit code; a missing message does.

import { parseArgs } from "@std/cli/parse-args";
import { App, type Topic } from "../../../mod.ts";
import { Denokv } from "../../../tests/denokv/denokv.ts";
import { readCount, refuseUnknown } from "../command.ts";
import { note } from "../figure.ts";
import { median } from "../http/statistics.ts";
import { measureOnNats } from "./on_nats.ts";
import { measureOverTls } from "./over_tls.ts";
import { compareRates, type Contestant, isSingle } from "./rates.ts";

const USAGE = `Compares durable topics with bare commits of Deno KV, on a denokv of this machine, and with NATS servers.

Options:
  --rounds <n>      rounds (default 5), in which contestants take turns in random order
  --messages <n>    messages of a publisher in a round (default 1000)
  --quick           one round of 20 messages
  --help            print this text`;

/** About 200 bytes of JSON. */
const DATA = { item: "Darjeeling, second flush", note: "x".repeat(140), price: 12.5 };
const BYTES = new TextEncoder().encode(JSON.stringify(DATA));
const NOTHING = new Uint8Array();
const BASELINE = "bare commits, one after another";

/** Measures, and returns the exit code. */
export async function main(args: string[], signal: AbortSignal): Promise<number> {
  const parsed = parseArgs(args, {
    string: ["rounds", "messages"],
    boolean: ["quick", "help"],
    unknown: refuseUnknown,
  });
  if (parsed.help) {
    console.log(USAGE);
    return 0;
  }
  const rounds = readCount(parsed.rounds ?? (parsed.quick ? "1" : "5"));
  const messages = readCount(parsed.messages ?? (parsed.quick ? "20" : "1000"));
  await using server = await Denokv.start();
  Deno.env.set("DENO_KV_ACCESS_TOKEN", server.token);
  const kv = await Deno.openKv(server.url);
  const [one, other] = [1, 2].map(() => new App({ topics: server.url }));
  const [topic, elsewhere] = [one!, other!].map((app) => app.topic<unknown>("bench", { durable: true }));
  console.log(
    `Deno ${Deno.version.deno}, denokv, ${Deno.build.target}; ${BYTES.length} bytes of JSON; ${rounds} rounds\n`,
  );

  const all = contestants(kv, topic!);
  const isBaseline = ({ name }: Contestant) => name === BASELINE;
  // Single publishers come before the load of many. They are compared with the bare commits between
  // them.
  const compare = (measure: string, contestants: Contestant[]) =>
    compareRates({ measure, reference: BASELINE, contestants, rounds, messages }, signal);
  await compare("publish", all.filter(isSingle));
  await compare("publish at once", all.filter((each) => isBaseline(each) || !isSingle(each)));
  await measureOnNats(topic!, DATA, rounds, messages, signal);
  // A tenth is enough: each publish takes as long as a write to the disk, and there are six kinds.
  await measureOverTls(server, rounds, Math.ceil(messages / 10), signal);
  console.log();
  const fault = await measureDelivery(topic!, elsewhere!, messages);
  await Promise.all([one!.stop(), other!.stop()]);
  kv.close();
  if (fault !== undefined) console.error(`  FAULT ${fault}`);
  return fault === undefined ? 0 : 1;
}

function contestants(kv: Deno.Kv, topic: Topic<unknown>): Contestant[] {
  let written = 0;
  // Under new keys, as messages have: to write an entry again costs less.
  const commit = () => kv.set(["bare", written++], BYTES);
  const commitWithHead = () => kv.atomic().set(["event", written++], BYTES).set(["head"], NOTHING).commit();
  let version: string | null = null;
  const commitLikeMessage = async () => {
    const result = await kv.atomic().check({ key: ["life"], versionstamp: null }, {
      key: ["series"],
      versionstamp: version,
    })
      .set(["like", written++], BYTES).set(["like", "head"], NOTHING).set(["like", "bell"], NOTHING)
      .set(["series"], NOTHING, { expireIn: 120_000 }).commit();
    if (!result.ok) throw new Error("Cannot compare: a commit was refused");
    version = result.versionstamp;
  };
  const withId = () => topic.publish(DATA, { id: crypto.randomUUID() });
  return [
    { name: BASELINE, publishers: 1, publish: commit },
    { name: "bare commits with a head, one after another", publishers: 1, publish: commitWithHead },
    { name: "bare commits of as many entries as a message", publishers: 1, publish: commitLikeMessage },
    { name: "publish, one publisher", publishers: 1, publish: () => topic.publish(DATA) },
    { name: "publish, one publisher, with ids", publishers: 1, publish: withId },
    { name: "bare commits, 64 at once", publishers: 64, publish: commit },
    { name: "publish, 64 publishers", publishers: 64, publish: () => topic.publish(DATA) },
    { name: "publish, 64 publishers, with ids", publishers: 64, publish: withId },
  ];
}

/** The time from the call of publish until another node has the message. */
async function measureDelivery(
  topic: Topic<unknown>,
  elsewhere: Topic<unknown>,
  messages: number,
): Promise<string | undefined> {
  const subscription = elsewhere.subscribe();
  await subscription.cursor();
  // The other node begins to listen when it has a subscriber.
  await topic.publish("first");
  await subscription.next();
  const delays: number[] = [];
  for (let number = 0; number < messages; number++) {
    const begin = performance.now();
    const next = subscription.next();
    await topic.publish(number);
    const { value } = await next;
    if (!value || !("data" in value) || value.data !== number) return `message ${number} has not come`;
    delays.push(performance.now() - begin);
  }
  delays.sort((a, b) => a - b);
  const quantile = (part: number) => delays[Math.floor(part * (delays.length - 1))]!.toFixed(1);
  note({
    measure: "delivery to another node",
    contestant: "topic",
    value: median(delays),
    unit: "ms",
    rounds: messages,
  });
  console.log(`delivery to another node: p50 ${quantile(0.5)} ms, p99 ${quantile(0.99)} ms, most ${quantile(1)} ms`);
  subscription.close();
  return undefined;
}
