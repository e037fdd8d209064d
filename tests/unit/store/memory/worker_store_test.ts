import { assertRejects } from "@std/assert";
import { HostStore, RemoteStore } from "../../../../src/store/memory/worker_store.ts";
import { append, logOf, messageOf, type StoreKind } from "../../../contract/store_fixture.ts";
import { testStore } from "../../../contract/store_suites.ts";

/** How many workers share a store at most, in these tests. */
const GUESTS = 8;

/** A store in memory, used over ports. */
const SHARED: StoreKind = {
  name: "A store shared by workers",
  prepare: async (now) => {
    const channels = Array.from({ length: GUESTS }, () => new MessageChannel());
    const host = new HostStore(channels.map(({ port1 }) => port1), { now });
    const guests = channels.map(({ port2 }) => new RemoteStore(port2));
    const unused = [...guests];
    return {
      // A test closes the stores that it has opened, and the fixture closes the others.
      open: () => unused.shift()!,
      async [Symbol.asyncDispose]() {
        await Promise.all(guests.map((guest) => guest.close()));
        await host.close();
      },
    };
  },
};

testStore(SHARED);

Deno.test("A call of another worker's store fails when the store is closed before the answer", async () => {
  const { port1, port2 } = new MessageChannel();
  const host = new HostStore([port1]);
  const guest = new RemoteStore(port2);
  const appended = append(guest, logOf("a"), [messageOf(1)]);
  const failed = assertRejects(() => appended, Error, "it was closed");
  await guest.close();
  await failed;
  await host.close();
});

Deno.test("A store that is closed waits for workers that have joined, and not for those that never started", async () => {
  const channels = [new MessageChannel(), new MessageChannel()];
  const host = new HostStore(channels.map(({ port1 }) => port1));
  const [{ port2 }, { port2: unused }] = channels as [MessageChannel, MessageChannel];
  const guest = new RemoteStore(port2);
  await append(guest, logOf("a"), [messageOf(1)]);
  const closed = host.close();
  // It still answers the worker that has joined.
  await append(guest, logOf("a"), [messageOf(2)]);
  await guest.close();
  await closed;
  unused.close();
});
