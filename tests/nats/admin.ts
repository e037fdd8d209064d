import { NatsClient, natsPackage } from "../../src/store/jetstream/nats_client.ts";
import { NatsTransport } from "../../src/store/jetstream/nats_transport.ts";
import { StoreClock } from "../../src/store/store_connection.ts";

/** Somebody who changes streams behind the back of the stores. */
export class Admin implements AsyncDisposable {
  readonly #client: NatsClient;

  private constructor(client: NatsClient) {
    this.#client = client;
  }

  /** Connects to servers. */
  static async open(url: string): Promise<Admin> {
    const nats = await natsPackage.use();
    nats.setTransportFactory({ factory: () => new NatsTransport(nats) });
    const connection = await nats.NatsConnectionImpl.connect({
      servers: url.split(",").map((each) => new URL(each).host),
      name: "admin",
      timeout: 5_000,
      pingInterval: 5_000,
      maxPingOut: 2,
      maxReconnectAttempts: -1,
      reconnectTimeWait: 100,
      reconnectJitter: 100,
      ignoreClusterUpdates: true,
    });
    return new Admin(new NatsClient(nats, connection, { name: url, prefix: "admin", clock: new StoreClock() }));
  }

  /** Calls JetStream. */
  async call<Reply>(method: string, body: object = {}): Promise<Reply> {
    return await this.#client.call<Reply>(method, body);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.closed();
  }
}
