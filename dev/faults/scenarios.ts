// The scenarios: what goes wrong in a run.

import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { schemaText } from "../../src/store/sql/schema.ts";
import { Denokv } from "../../tests/denokv/denokv.ts";
import { PostgresServer } from "../../tests/postgres/postgres_server.ts";
import type { Random } from "../../tests/unit/support/random.ts";
import { Relay } from "../../tests/support/relay.ts";
import { Cluster, type ClusterPlan, type Launcher } from "./cluster.ts";
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

interface CommonSetting {
  readonly plan: ClusterPlan;
  readonly cluster: Cluster;
  readonly random: Random;
  readonly tell: (injected: string) => void;
}

interface FileSetting extends CommonSetting {
  readonly path: string;
}

interface Setting extends CommonSetting {
  readonly server: Server;
  readonly relay: Relay;
}

/** What can be done to the server of a store. */
interface Server {
  kill(): Promise<void>;
  startAgain(): Promise<void>;
  freeze(): void;
  thaw(): void;
}

/** What is done to nodes that share a server. */
interface Fault {
  readonly name: string;
  readonly special: Partial<ClusterPlan> | ((random: Random) => Partial<ClusterPlan>);
  readonly inject: Injection;
}

const FAULTS: readonly Fault[] = [
  { name: "node-kill", special: {}, inject: killNodes },
  {
    name: "store-kill",
    special: {},
    inject: async ({ cluster, server, random, tell }) => {
      for (let kills = 1 + random.below(2); kills > 0; kills--) {
        await cluster.progress(1 + random.below(TOTAL / 2));
        await server.kill();
        const ms = random.below(1500);
        await rest(ms);
        await server.startAgain();
        tell(`killed the store for ${ms} ms`);
      }
    },
  },
  {
    name: "store-frozen",
    special: {},
    inject: async ({ cluster, server, random, tell }) => {
      await cluster.progress(1 + random.below(TOTAL / 2));
      server.freeze();
      const ms = 500 + random.below(5000);
      await rest(ms);
      server.thaw();
      tell(`froze the store for ${ms} ms`);
    },
  },
  { name: "replies-lost", special: {}, inject: loseReplies },
  {
    name: "crowd",
    special: crowded,
    inject: async (setting) => {
      const node = setting.random.pick(NODES);
      await loseReplies(setting);
      await setting.cluster.killNode(node);
      setting.cluster.startNode(node);
      setting.tell(`killed node ${node}, ${setting.plan.isShared ? "shared" : "own"} ids`);
    },
  },
  {
    name: "black-hole",
    special: {},
    inject: async ({ cluster, relay, random, tell }) => {
      await cluster.progress(1 + random.below(TOTAL / 2));
      relay.set("lossy");
      const ms = 500 + random.below(4000);
      await rest(ms);
      relay.set("whole");
      tell(`swallowed everything for ${ms} ms`);
    },
  },
  { name: "trimming", special: trimmed, inject: trim },
  {
    name: "slow-reader",
    special: { options: { ...DURABLE, buffer: 2 }, rest: 2 },
    inject: async ({ cluster, tell }) => {
      await cluster.progress(TOTAL);
      tell("held 2 messages ready");
    },
  },
];

const OVER_TLS: Fault = {
  name: "over-tls",
  special: {},
  inject: async (setting) => {
    const { cluster, relay, random, tell } = setting;
    await loseReplies(setting);
    relay.set("lossy");
    const ms = 500 + random.below(4000);
    await rest(ms);
    relay.set("whole");
    tell(`swallowed everything for ${ms} ms`);
    await cluster.progress(1 + random.below(TOTAL));
    relay.cutOpen();
  },
};

/** All kinds of runs. */
export const SCENARIOS: readonly Scenario[] = [
  ...FAULTS.map((fault) => onDenokv(fault)),
  onDenokv(OVER_TLS, { isOverTls: true }),
  onFile("one-file", {}, killNodes),
  { name: "cut-stream", run: cutStream },
  { name: "partition", run: runPartition },
  ...FAULTS.map((fault) => onPostgres(fault)),
  onFile("sqlite-node-kill", { topics: "sqlite" }, killNodes),
  onFile("sqlite-locked", { topics: "sqlite" }, lock),
  onFile("sqlite-crowd", { topics: "sqlite", special: crowded }, killNodes),
  onFile("sqlite-trimming", { topics: "sqlite", special: trimmed }, trim),
];

/**
 * Runs in which writes check nothing. Then duplicates are stored, and the checker must find them.
 */
export const NEGATIVE_CONTROLS: readonly Scenario[] = [
  onDenokv({ name: "control", special: { isBlind: true }, inject: loseReplies }),
  onPostgres({ name: "control", special: {}, inject: loseReplies }, { isBlind: true }),
  onFile("sqlite-control", { topics: "sqlite", isBlind: true }, killNodes),
];

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

function onDenokv(fault: Fault, { isOverTls = false } = {}): Scenario {
  return {
    name: fault.name,
    run: async (random, tell) => {
      await using server = await Denokv.start();
      await using front = isOverTls ? await TlsFront.start(server.url) : undefined;
      using relay = new Relay(front?.port ?? server.port);
      const { token } = server;
      const topics = { url: `${front ? "https" : "http"}://127.0.0.1:${relay.port}`, token };
      const launcher = () => front ? ["env", `DENO_CERT=${front.certificate}`] : [];
      return await runOn({ fault, topics, direct: { url: server.url, token }, server, relay, random, tell, launcher });
    },
  };
}

function onPostgres(fault: Fault, { isBlind = false } = {}): Scenario {
  return {
    name: `postgres-${fault.name}`,
    run: async (random, tell) => {
      await using server = await PostgresServer.start();
      using relay = new Relay(server.port);
      const topics = server.url.replace(`:${server.port}/`, `:${relay.port}/`);
      if (isBlind) await server.query(blindSchema("postgres"));
      return await runOn({ fault, topics, direct: server.url, server, relay, random, tell });
    },
  };
}

/** The tables without the index by which a repeated message is found. */
function blindSchema(dialect: "postgres" | "sqlite"): string {
  const text = schemaText(dialect);
  const blind = text.replace(/,\s*UNIQUE \(log, id\)/, "");
  if (blind === text) throw new Error("Cannot make a control: the tables have no unique ids");
  return blind;
}

interface ServerRun {
  readonly fault: Fault;
  /** The store over the relay. */
  readonly topics: ClusterPlan["topics"];
  readonly direct: ClusterPlan["topics"];
  readonly server: Server;
  readonly relay: Relay;
  readonly random: Random;
  readonly tell: (injected: string) => void;
  readonly launcher?: Launcher;
}

async function runOn({ fault, topics, direct, launcher, ...setting }: ServerRun): Promise<History> {
  const { special, inject } = fault;
  const folder = await Deno.makeTempDir({ prefix: "webfw_fault_" });
  const plan = { ...PLAN, ...typeof special === "function" ? special(setting.random) : special, topics };
  await using cluster = new Cluster(folder, plan, NODES, launcher);
  cluster.start();
  await inject({ plan, cluster, ...setting });
  return await cluster.finish(direct);
}

interface FileOptions {
  readonly topics?: "file" | "sqlite";
  readonly special?: Fault["special"];
  readonly isBlind?: boolean;
}

/** Processes that share a file. */
function onFile(
  name: string,
  { topics: kind = "file", special = {}, isBlind = false }: FileOptions,
  inject: (setting: FileSetting) => Promise<void>,
): Scenario {
  return {
    name,
    run: async (random, tell) => {
      const folder = await Deno.makeTempDir({ prefix: "webfw_fault_" });
      const path = join(folder, "topics.sqlite");
      const topics = kind === "sqlite" ? `sqlite:${path}` : path;
      if (isBlind) {
        using database = new DatabaseSync(path);
        database.exec(`PRAGMA journal_mode = WAL; ${blindSchema("sqlite")}`);
      }
      const plan = { ...PLAN, ...typeof special === "function" ? special(random) : special, topics };
      await using cluster = new Cluster(folder, plan, NODES);
      cluster.start();
      await inject({ plan, cluster, random, tell, path });
      return await cluster.finish(topics);
    },
  };
}

async function killNodes({ cluster, random, tell }: CommonSetting): Promise<void> {
  for (let kills = 1 + random.below(3); kills > 0; kills--) {
    await cluster.progress(1 + random.below(TOTAL / 4));
    const node = random.pick(NODES);
    await cluster.killNode(node);
    tell(`killed node ${node}`);
    cluster.startNode(node);
  }
}

async function trim({ cluster, plan, random, tell }: CommonSetting): Promise<void> {
  if (random.oneIn(2)) {
    await cluster.progress(1 + random.below(NODES.length * TRIMMED_MESSAGES / 2));
    const node = random.pick(NODES);
    await cluster.killNode(node);
    tell(`killed node ${node}`);
    cluster.startNode(node);
  }
  const { publishers, options: { retention } } = plan;
  tell(`kept ${retention!.count} of ${NODES.length * TRIMMED_MESSAGES} messages of ${publishers} publishers each`);
}

/** Another program keeps the right to write, as one with a long transaction would. */
async function lock({ cluster, random, tell, path }: FileSetting): Promise<void> {
  await cluster.progress(1 + random.below(TOTAL / 2));
  const ms = 500 + random.below(5000);
  {
    using database = new DatabaseSync(path, { timeout: 5_000 });
    database.exec("BEGIN IMMEDIATE");
    await rest(ms);
  }
  tell(`locked the file for ${ms} ms`);
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
