/** The nodes that share a store: each signs a record, and all read all of them. */
import { describeError, log } from "../log/log.ts";
import { type Records, recordsOf } from "../store/records.ts";

const SPACE = "nodes";
/** How often a node signs, in milliseconds. */
const INTERVAL = 15_000;
/** A node that has not signed for so long is shown as silent. */
const SILENT_AFTER = 45_000;
/** How long a silent node is shown. */
const KEPT = "10m";

interface Sign {
  readonly name: string;
  readonly version: string;
  readonly since: number;
  readonly sign: number;
}

export interface NodeView extends Sign {
  readonly isSilent: boolean;
  /** Whether it is the one that answers. */
  readonly isThis: boolean;
}

export interface NodesOptions {
  readonly records: Records;
  readonly title: string;
  readonly version: string;
  /** Whether other nodes may share the records. */
  readonly isShared: boolean;
}

export class Nodes {
  readonly #options: NodesOptions;
  readonly #records: Records;
  readonly #id: string = crypto.randomUUID().slice(0, 8);
  readonly #own: Omit<Sign, "sign">;
  #timer: ReturnType<typeof setInterval> | undefined;
  #signing: Promise<unknown> = Promise.resolve();

  constructor(options: NodesOptions) {
    this.#options = options;
    this.#records = recordsOf(options.records, SPACE);
    this.#own = { name: nodeName(), version: options.version, since: Date.now() };
  }

  start(): void {
    if (!this.#options.isShared) return;
    this.#sign();
    this.#timer = setInterval(() => this.#sign(), INTERVAL);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#signing;
    if (this.#options.isShared) await this.#records.delete([this.#options.title, this.#id]).catch(() => {});
  }

  /** The oldest first. */
  async list(): Promise<NodeView[]> {
    const now = Date.now();
    const own: NodeView = { ...this.#own, sign: now, isSilent: false, isThis: true };
    if (!this.#options.isShared) return [own];
    const nodes = [own];
    for await (const { key, value } of this.#records.list<Sign>([this.#options.title])) {
      if (key.at(-1) === this.#id) continue;
      nodes.push({ ...value, isSilent: now - value.sign > SILENT_AFTER, isThis: false });
    }
    return nodes.sort((one, other) => one.since - other.since);
  }

  #sign(): void {
    const sign: Sign = { ...this.#own, sign: Date.now() };
    this.#signing = this.#records.set([this.#options.title, this.#id], sign, { expiresIn: KEPT }).catch((error) => {
      log("warn", "The board cannot list this node: its record was not stored", { error: describeError(error) });
    });
  }
}

/** The machine, if it may be read, and the process. */
function nodeName(): string {
  const isReadable = Deno.permissions.querySync({ name: "sys", kind: "hostname" }).state === "granted";
  return isReadable ? `${Deno.hostname()} ${Deno.pid}` : `process ${Deno.pid}`;
}
