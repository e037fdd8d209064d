// A page that watches orders while the nodes of the shop are killed, one after the other.

import { assert, assertEquals } from "@std/assert";
import { App, SSE } from "@webfw/core";
import type { GapReason, ServerSentEvent } from "@webfw/core/types";
import type { Page } from "npm:playwright-core@^1.65.1";
import { fileURLToPath } from "node:url";
import { bundle } from "../../examples/bundle.ts";
import { TakenOrder } from "../../examples/orders/models.ts";
import { page as pageRouter } from "../../examples/orders/page.ts";
import { type State, state } from "../../examples/orders/state.ts";
import { Lines } from "../cli/lines.ts";
import { until } from "../support/wait.ts";
import { freePorts } from "../support/free_ports.ts";
import { browserTest } from "./support/browser.ts";
import { WatchedPage } from "./support/watched_page.ts";

const SCRIPT = new URL("../../examples/orders/page/orders.ts", import.meta.url);
const NODES = fileURLToPath(new URL("../../examples/orders/nodes.ts", import.meta.url));
const CONFIG = Deno.env.get("WEBFW_CONFIG") || fileURLToPath(new URL("../../deno.json", import.meta.url));
/** How long an answer may take before the next node is asked, in milliseconds. */
const PATIENCE = 5_000;

/** The shop, as one task starts it. Disposing of it stops it. */
class Shop implements AsyncDisposable {
  readonly urls: readonly string[];
  readonly #child: Deno.ChildProcess;
  readonly #stdout: Lines;
  readonly #stderr: Lines;
  /** The process of each node, by its name. */
  readonly #processes = new Map<string, number>();

  constructor() {
    const ports = freePorts(2);
    this.urls = ports.map((port) => `http://127.0.0.1:${port}`);
    this.#child = new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--quiet", "--config", CONFIG, NODES],
      env: { ORDERS_PORTS: ports.join(","), WEBFW_CONFIG: CONFIG, NO_COLOR: "1" },
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    this.#stdout = new Lines(this.#child.stdout);
    this.#stderr = new Lines(this.#child.stderr);
  }

  /** Waits until both nodes answer. */
  async start(): Promise<void> {
    for (const name of ["one", "two"]) await this.#process(name);
    for (const url of this.urls) await this.answers(url);
  }

  /** Waits until a node answers. */
  async answers(url: string): Promise<void> {
    await until(`${url} answers`, async () => {
      const response = await fetch(`${url}/nodes`).catch(() => undefined);
      await response?.body?.cancel();
      return response?.ok === true;
    });
  }

  /** Kills a node without a warning, and waits until it is started again. */
  async kill(name: string): Promise<void> {
    Deno.kill(this.#processes.get(name)!, "SIGKILL");
    await this.#process(name);
  }

  async #process(name: string): Promise<void> {
    const match = await this.#stdout.next(new RegExp(`^Node ${name}: \\S+, process (\\d+)$`));
    this.#processes.set(name, Number(match[1]));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGTERM");
    await Promise.all([this.#child.status, this.#stdout.ended, this.#stderr.ended]);
  }
}

/** Sends orders one after the other, each until some node has taken it. */
class Client {
  /** The items that were taken, in their order. */
  readonly taken: string[] = [];
  /** How often an order was sent again. */
  repeats = 0;
  readonly #urls: readonly string[];
  #node = 0;

  constructor(urls: readonly string[]) {
    this.#urls = urls;
  }

  /** Sends orders until the signal. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) await this.#order(`Item ${this.taken.length + 1}`);
  }

  async #order(item: string): Promise<void> {
    const order = { id: crypto.randomUUID(), item, quantity: 1 };
    while (!await this.#isTaken(order)) {
      this.repeats++;
      this.#node = (this.#node + 1) % this.#urls.length;
      if (this.repeats > 10_000) throw new Error("No node takes orders");
    }
    this.taken.push(item);
  }

  async #isTaken(order: object): Promise<boolean> {
    try {
      const response = await fetch(`${this.#urls[this.#node]}/orders`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(order),
        signal: AbortSignal.timeout(PATIENCE),
      });
      await response.body?.cancel();
      return response.status === 201;
    } catch {
      return false;
    }
  }
}

async function shownItems(page: Page): Promise<string[]> {
  const items = await page.locator("#orders tr td:first-child").allTextContents();
  return items.reverse();
}

browserTest("Nodes are killed while orders come in: a page shows each order once, in order", async (browser) => {
  await using shop = new Shop();
  await shop.start();
  await using watched = await WatchedPage.open(browser, shop.urls[0]!);
  const { page } = watched;
  await page.getByText("Connected to node one").waitFor();

  const client = new Client(shop.urls);
  const stop = new AbortController();
  const ordering = client.run(stop.signal);
  const moreOrders = async () => {
    const count = client.taken.length + 20;
    await until("20 more orders", () => client.taken.length >= count);
  };
  await moreOrders();

  const backAgain = shop.kill("one");
  await page.getByText("Connected to node two").waitFor();
  await moreOrders();
  await backAgain;
  await shop.answers(shop.urls[0]!);

  const secondBackAgain = shop.kill("two");
  await page.getByText("Connected to node one").waitFor();
  await moreOrders();
  stop.abort();
  await ordering;
  await secondBackAgain;

  await page.getByText(`Item ${client.taken.length}`, { exact: true }).waitFor();
  assertEquals(await shownItems(page), client.taken);
  assert(client.repeats > 0, "The kills were to interrupt the client");
  const nodes = new Set(await page.locator("#orders tr td:last-child").allTextContents());
  assertEquals([...nodes].sort(), ["one", "two"]);
  assertEquals(watched.complaints.filter((text) => /uncaught|dialog|Content Security|CORS/.test(text)), []);
  const picture = Deno.env.get("ORDERS_PICTURE");
  if (picture) await page.screenshot({ path: picture });
});

browserTest("A page orders at another node when its own has gone, and the order is taken once", async (browser) => {
  await using shop = new Shop();
  await shop.start();
  await using watched = await WatchedPage.open(browser, shop.urls[0]!);
  const { page } = watched;
  await page.getByText("Connected to node one").waitFor();
  const backAgain = shop.kill("one");
  await page.getByLabel("Item").fill("Tea <b>green</b>");
  await page.getByRole("button", { name: "Order" }).click();
  await page.getByText("Taken", { exact: true }).waitFor();
  await page.getByText("Tea <b>green</b>").waitFor();
  assertEquals(await shownItems(page), ["Tea <b>green</b>"]);
  await backAgain;
  assertEquals(watched.complaints.filter((text) => /uncaught|dialog|Content Security/.test(text)), []);
});

/**
 * A node with a scripted stream of orders: a list for each connection. The last connection stays
 * open.
 */
class ScriptedNode implements AsyncDisposable {
  /** The id after which each connection asked for messages. */
  readonly asked: (string | null)[] = [];
  readonly #streams: ServerSentEvent[][];
  readonly #closing = Promise.withResolvers<void>();
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  #app: App<State> | undefined;

  constructor(streams: ServerSentEvent[][]) {
    this.#streams = streams;
    const options = { hostname: "127.0.0.1", port: 0, onListen: () => {} };
    this.#server = Deno.serve(options, (request) => (this.#app ??= this.#makeApp()).fetch(request));
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.addr.port}`;
  }

  #makeApp(): App<State> {
    const app = new App({ state });
    const nodes = [{ name: "one", url: this.url }];
    const topic = app.topic("orders", { schema: TakenOrder });
    app.lifespan(async function* () {
      yield { node: "one", nodes, topic, script: await bundle(SCRIPT) };
    });
    app.include(pageRouter);
    app.get("/nodes", async () => nodes);
    app.get("/orders/events", async ({ lastEventId }) => {
      this.asked.push(lastEventId);
      return SSE(this.#nextStream(), { retry: 100 });
    });
    return app;
  }

  async *#nextStream(): AsyncGenerator<ServerSentEvent> {
    yield* this.#streams.shift() ?? [];
    if (this.#streams.length === 0) await this.#closing.promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.resolve();
    await this.#server.shutdown();
  }
}

const NOTE = "Some orders are no longer kept";
const SHOWN: Readonly<Record<GapReason, string[]>> = {
  retention: ["Tea", "Milk", NOTE, "Bread"],
  slow: ["Tea", "Milk", NOTE, "Bread"],
  epoch: [NOTE, "Bread"],
  ahead: [NOTE, "Bread"],
  schema: ["Tea", "Milk", NOTE, "Bread"],
};

for (const [reason, shown] of Object.entries(SHOWN)) {
  browserTest(`A page that is told of a gap, ${reason}, shows and counts no order twice`, async (browser) => {
    const order = (id: string, item: string) => ({ id, data: { item, quantity: 1, node: "one" } });
    await using node = new ScriptedNode([
      [order("1", "Tea"), order("2", "Milk"), { event: "webfw.gap", id: "3", data: { reason } }],
      [order("4", "Bread")],
    ]);
    await using watched = await WatchedPage.open(browser, node.url);
    const { page } = watched;
    await page.getByText("Bread", { exact: true }).waitFor();
    assertEquals(await shownItems(page), shown);
    assertEquals(await page.locator("#count").textContent(), `${shown.length - 1}`);
    // It got the gap only once.
    assertEquals(node.asked, [null, "3"]);
  });
}
