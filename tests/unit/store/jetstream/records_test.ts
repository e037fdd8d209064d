// Records in JetStream, whose servers answer reads without asking each other.

import { assertEquals } from "@std/assert";
import { JetStreamRecords } from "../../../../src/store/jetstream/jetstream_records.ts";
import type { NatsClient } from "../../../../src/store/jetstream/nats_client.ts";
import type { StoreConnection } from "../../../../src/store/store_connection.ts";

/** Records of a server that answers with these sequence numbers, one after another. */
function recordsOf(answers: number[]): JetStreamRecords {
  const client = {
    async call(name: string) {
      if (name.startsWith("STREAM.INFO")) {
        return { config: { allow_msg_ttl: true, max_msgs_per_subject: 1, num_replicas: 3, first_seq: 1 } };
      }
      const seq = answers.length > 1 ? answers.shift()! : answers[0]!;
      return { message: { subject: "s", seq, data: btoa(`value ${seq}`) } };
    },
  } as unknown as NatsClient;
  const connection = {
    now: () => Date.now(),
    /** Repeats what fails, as connections do. */
    async use<Result>(action: (client: NatsClient) => Promise<Result>): Promise<Result> {
      for (;;) {
        try {
          return await action(client);
        } catch {
          clock += 500;
        }
      }
    },
  } as unknown as StoreConnection<NatsClient>;
  return new JetStreamRecords(connection, { prefix: "webfw", replicas: 3 });
}

/** The time of `performance.now()`, in milliseconds. */
let clock = 0;

function test(title: string, body: () => Promise<void>): void {
  Deno.test(title, async () => {
    const { now } = performance;
    performance.now = () => clock;
    try {
      await body();
    } finally {
      performance.now = now;
    }
  });
}

test("a former leader does not make a process read an older record than before", async () => {
  const records = recordsOf([7, 6, 6, 7]);
  assertEquals((await records.get(["key"]))?.value, "value 7");
  assertEquals((await records.get(["key"]))?.value, "value 7");
});

test("after some seconds, an older record is that of a bucket that was set back", async () => {
  const records = recordsOf([7, 6]);
  assertEquals((await records.get(["key"]))?.value, "value 7");
  const begin = clock;
  assertEquals((await records.get(["key"]))?.value, "value 6");
  assertEquals(clock - begin >= 3_000, true);
  assertEquals((await records.get(["key"]))?.value, "value 6");
});
