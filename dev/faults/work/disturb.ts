// What goes wrong in runs of consumers and crons.

import type { Random } from "../../../tests/unit/support/random.ts";
import type { NodePlan } from "./node.ts";
import { type Nodes, rest } from "./nodes.ts";
import type { Break, SharedStore } from "./store.ts";
import { wallNow } from "./trouble.ts";

/** What is disturbed. */
export interface Setting {
  readonly random: Random;
  readonly store: SharedStore;
  readonly nodes: Nodes<NodePlan>;
  /** How long a node that is silent keeps what it has, in milliseconds. */
  readonly lease: number;
  /** How far the clock of a machine that nodes share is set at most, in milliseconds. */
  readonly clockRange: number;
  /** The node to which it is done. */
  pickNode(): Promise<string>;
}

/** Does something, undoes it, and says what it was. */
type Disturbance = (setting: Setting) => Promise<string>;

const HOUR = 3_600_000;

const KILL_NODE: Disturbance = async ({ nodes, pickNode }) => {
  await nodes.kill(await pickNode());
  nodes.fill();
  return "killed a node";
};

const STOP_NODE: Disturbance = async ({ nodes, pickNode }) => {
  await nodes.stop(await pickNode());
  nodes.fill();
  return "stopped a node";
};

const FREEZE_NODE: Disturbance = async (setting) => {
  const ms = timeBeside(setting);
  await setting.nodes.freeze(await setting.pickNode(), ms);
  return `froze a node for ${ms} ms`;
};

const CUT_OFF: Disturbance = async (setting) => {
  const ms = timeBeside(setting);
  const how = setting.random.pick<Break>(["lossy", "stalled", "cut", "replies lost"]);
  await setting.nodes.cutOff(await setting.pickNode(), how, ms);
  return `cut a node off for ${ms} ms (${how})`;
};

/** A machine has its clock, and a store on a network has its own. */
const SET_CLOCK: Disturbance = async ({ random, store, nodes, lease, clockRange, pickNode }) => {
  const isShared = store.ports.length === 0;
  const range = isShared ? clockRange : HOUR;
  const ahead = random.below(2 * range) - range;
  const ms = random.below(3 * lease);
  if (!isShared && random.oneIn(2)) {
    await nodes.kill(await pickNode());
    nodes.fill(ahead);
    await rest(ms);
    nodes.setClock(nodes.names.at(-1), 0);
    return `killed a node, whose clock is wrong by ${ahead} ms for ${ms} ms`;
  }
  const node = isShared ? undefined : await pickNode();
  const from = wallNow();
  nodes.setClock(node, ahead);
  await rest(ms);
  nodes.setClock(node, 0);
  if (isShared) nodes.troubles.push({ kind: "clock", from, to: wallNow() + Math.abs(ahead), ahead });
  return `set ${isShared ? "the clock" : "a node's clock"} by ${ahead} ms for ${ms} ms`;
};

const FREEZE_STORE: Disturbance = (setting) => {
  const { random, store, lease } = setting;
  const holder = random.pick(store.holders);
  const ms = random.below(3 * lease);
  return away(setting, `froze ${nameOf(setting)} for ${ms} ms`, async () => {
    holder.freeze();
    await rest(ms);
    holder.thaw();
  });
};

const KILL_STORE: Disturbance = (setting) => {
  const { random, store, lease } = setting;
  const holder = random.pick(store.holders);
  const ms = random.below(3 * lease);
  return away(setting, `killed ${nameOf(setting)} for ${ms} ms`, async () => {
    await holder.kill!();
    await rest(ms);
    await holder.startAgain!();
  });
};

const RESTART_STORE: Disturbance = (setting) => {
  const { random, store, lease } = setting;
  const ms = random.below(2 * lease);
  return away(setting, `killed all servers for ${ms} ms`, async () => {
    await Promise.all(store.holders.map((holder) => holder.kill!()));
    await rest(ms);
    await Promise.all(store.holders.map((holder) => holder.startAgain!()));
  });
};

/** All that can be done to a store and its nodes. */
export function disturbancesOf({ holders, ports }: SharedStore): readonly Disturbance[] {
  const ofAll = [KILL_NODE, FREEZE_NODE, STOP_NODE, SET_CLOCK, FREEZE_STORE];
  if (ports.length === 0) return ofAll;
  return [...ofAll, CUT_OFF, CUT_OFF, KILL_STORE, ...(holders.length > 1 ? [RESTART_STORE] : [])];
}

/** Does something while which nodes cannot count on the store. */
async function away({ store, nodes }: Setting, what: string, disturb: () => Promise<void>): Promise<string> {
  const from = wallNow();
  await disturb();
  nodes.troubles.push({ kind: "store", from, to: wallNow() + store.recovery });
  return what;
}

/** Within the lease, or beyond it. */
function timeBeside({ random, lease }: Setting): number {
  return random.oneIn(2) ? random.below(Math.ceil(0.8 * lease)) : Math.ceil(1.2 * lease) + random.below(2 * lease);
}

function nameOf({ store: { holders } }: Setting): string {
  return holders.length > 1 ? "a server" : "the store";
}
