// The scenarios: what goes wrong in a run.

import { join } from "node:path";
import { Denokv } from "../../tests/denokv/denokv.ts";
import type { Random } from "../../tests/unit/support/random.ts";
import { Relay } from "../../tests/support/relay.ts";
import { Cluster, type ClusterPlan } from "./cluster.ts";
import { cutStream } from "./cut_stream.ts";
import type { History } from "./history.ts";
import { runPartition } from "./namespace.ts";
import { TlsFront } from "./tls_front.ts";

/** A kind of run. */
export interface Scenario {
  readonly name: string;
  /** Runs the scenario, and reports each injected fault. */
  run(random: Random, tell: (injected: string) => void): Promise<History>;
}

/** The nodes of a run. */
export const NODES = ["a", "b", "c"] as const;
const PUBLISHERS = 4;
const MESSAGES = 40;
/** How many messages a run has. */
export const TOTAL: number = NODES.length * PUBLISHERS * MESSAGES;

/**
 * So many publishers that a node writes more messages with ids at once than one write can check one
 * by one.
 */
const CROWD = { publishers: 40, messages: 12 } as const;

/** More messages than a slow reader has read before the first are removed. */
const TRIMMED_MESSAGES = 800;
/**
 * Small logs keep few messages. Large logs keep so many that the node that removes messages does
 * not know the size of each write.
 */
const KEPT = { ofSmall: 50, ofLarge: 700 } as const;

/**
 * Ids are remembered for longer than any run takes: a killed node publishes all its messages again.
 */
const DURABLE = { durable: true, dedupe: "12h" } as const;

type Injection = (setting: Setting) => Promise<void>;

interface Setting {
  readonly plan: ClusterPlan;
  readonly cluster: Cluster;
  readonly server: Denokv;
  readonly relay: Relay;
  readonly random: Random;
  readonly tell: (injected: string) => void;
}

/** All kinds of runs. */
export const SCENARIOS: readonly Scenario[] = [
  onDatabase("node-kill", {}, async ({ cluster, random, tell }) => {
    for (let kills = 1 + random.below(3); kills > 0; kills--) {
      await cluster.progress(1 + random.below(TOTAL / 4));
      const node = random.pick(NODES);
      await cluster.killNode(node);
      tell(`killed node ${node}`);
      cluster.startNode(node);
    }
  }),
  onDatabase("store-kill", {}, async ({ cluster, server, random, tell }) => {
    for (let kills = 1 + random.below(2); kills > 0; kills--) {
      await cluster.progress(1 + random.below(TOTAL / 2));
      await server.kill();
      const ms = random.below(1500);
      await rest(ms);
      await server.startAgain();
      tell(`killed the store for ${ms} ms`);
    }
  }),
  onDatabase("store-frozen", {}, async ({ cluster, server, random, tell }) => {
    await cluster.progress(1 + random.below(TOTAL / 2));
    server.freeze();
    const ms = 500 + random.below(5000);
    await rest(ms);
    server.thaw();
    tell(`froze the store for ${ms} ms`);
  }),
  onDatabase("replies-lost", {}, loseReplies),
  onDatabase("crowd", crowded, async (setting) => {
    const node = setting.random.pick(NODES);
    await loseReplies(setting);
    await setting.cluster.killNode(node);
    setting.cluster.startNode(node);
    setting.tell(`killed node ${node}, ${setting.plan.isShared ? "shared" : "own"} ids`);
  }),
  onDatabase("black-hole", {}, async ({ cluster, relay, random, tell }) => {
    await cluster.progress(1 + random.below(TOTAL / 2));
    relay.set("lossy");
    const ms = 500 + random.below(4000);
    await rest(ms);
    relay.set("whole");
    tell(`swallowed everything for ${ms} ms`);
  }),
  onDatabase("over-tls", {}, async (setting) => {
    const { cluster, relay, random, tell } = setting;
    await loseReplies(setting);
    relay.set("lossy");
    const ms = 500 + random.below(4000);
    await rest(ms);
    relay.set("whole");
    tell(`swallowed everything for ${ms} ms`);
    await cluster.progress(1 + random.below(TOTAL));
    relay.cutOpen();
  }, { isOverTls: true }),
  onDatabase("trimming", trimmed, async ({ cluster, plan, random, tell }) => {
    if (random.oneIn(2)) {
      await cluster.progress(1 + random.below(NODES.length * TRIMMED_MESSAGES / 2));
      const node = random.pick(NODES);
      await cluster.killNode(node);
      tell(`killed node ${node}`);
      cluster.startNode(node);
    }
    const { publishers, options: { retention } } = plan;
    tell(`kept ${retention!.count} of ${NODES.length * TRIMMED_MESSAGES} messages of ${publishers} publishers each`);
  }),
  onDatabase("slow-reader", { options: { ...DURABLE, buffer: 2 }, rest: 2 }, async ({ cluster, tell }) => {
    await cluster.progress(TOTAL);
    tell("held 2 messages ready");
  }),
  {
    name: "one-file",
    run: async (random, tell) => {
      const folder = await Deno.makeTempDir({ prefix: "webfw_fault_" });
      const topics = join(folder, "topics.sqlite");
      await using cluster = new Cluster(folder, { ...PLAN, topics }, NODES);
      cluster.start();
      await cluster.progress(1 + random.below(TOTAL / 2));
      const node = random.pick(NODES);
      await cluster.killNode(node);
      tell(`three processes, killed ${node}`);
      cluster.startNode(node);
      return await cluster.finish(topics);
    },
  },
  { name: "cut-stream", run: cutStream },
  { name: "partition", run: runPartition },
];

/**
 * A run in which writes check nothing. Then duplicates are stored, and the checker must find them.
 */
export const NEGATIVE_CONTROL: Scenario = onDatabase("control", { isBlind: true }, loseReplies);

/** The default plan of nodes. */
export const PLAN: Omit<ClusterPlan, "topics"> = {
  options: DURABLE,
  publishers: PUBLISHERS,
  messages: MESSAGES,
  isShared: false,
  atOnce: 3,
  patience: 2_000,
  readers: 2,
  rest: 0,
  isBlind: false,
};

/** In some runs nodes publish the same messages at the same time, in another order on each. */
function crowded(random: Random): Partial<ClusterPlan> {
  return { ...CROWD, isShared: !random.oneIn(3) };
}

/** One publisher writes each of its messages separately, so that the log is large. */
function trimmed(random: Random): Partial<ClusterPlan> {
  const isLarge = random.oneIn(4);
  const publishers = isLarge ? 1 : PUBLISHERS;
  const options = { ...DURABLE, retention: { count: isLarge ? KEPT.ofLarge : KEPT.ofSmall } };
  return { options, publishers, messages: TRIMMED_MESSAGES / publishers, atOnce: 1, rest: 3 };
}

function onDatabase(
  name: string,
  special: Partial<ClusterPlan> | ((random: Random) => Partial<ClusterPlan>),
  inject: Injection,
  { isOverTls = false } = {},
): Scenario {
  return {
    name,
    run: async (random, tell) => {
      await using server = await Denokv.start();
      await using front = isOverTls ? await TlsFront.start(server.url) : undefined;
      using relay = new Relay(front?.port ?? server.port);
      const { token } = server;
      const topics = { url: `${front ? "https" : "http"}://127.0.0.1:${relay.port}`, token };
      const launcher = () => front ? ["env", `DENO_CERT=${front.certificate}`] : [];
      const folder = await Deno.makeTempDir({ prefix: "webfw_fault_" });
      const plan = { ...PLAN, ...typeof special === "function" ? special(random) : special, topics };
      await using cluster = new Cluster(folder, plan, NODES, launcher);
      cluster.start();
      await inject({ plan, cluster, server, relay, random, tell });
      return await cluster.finish({ url: server.url, token });
    },
  };
}

async function loseReplies({ cluster, relay, random, tell }: Setting): Promise<void> {
  for (let rounds = 2 + random.below(3); rounds > 0; rounds--) {
    await cluster.progress(1 + random.below(TOTAL / 2));
    relay.set("replies lost");
    await rest(20 + random.below(200));
    relay.set("whole");
  }
  tell(`lost ${relay.lost} replies`);
}

function rest(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
