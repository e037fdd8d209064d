import { assertEquals } from "@std/assert";
import { openDurableStore } from "../../../../src/store/lazy_store.ts";
import { toLocation } from "../../../../src/store/location.ts";
import { ChildProgram } from "../../../spec/support/child_program.ts";

Deno.test("A client of NATS that cannot be loaded is named with its cure", async () => {
  const [store, location] = ["jetstream/jetstream_store.ts", "location.ts"].map((path) =>
    new URL(`../../../../src/store/${path}`, import.meta.url).href
  );
  await using program = await ChildProgram.start(
    `
    import { openJetStream } from "${store}";
    import { toLocation } from "${location}";
    const store = openJetStream(toLocation("nats://127.0.0.1:1"));
    await store.open().catch(({ name, message }) => console.log(name, message));
    await store.close();
  `,
    { command: ["run", "--no-npm"] },
  );
  const { stdout, stderr } = await program.end();
  const message =
    'CannotOpenError Cannot open the store of topics "127.0.0.1:1": the client of NATS cannot be loaded ' +
    "(npm specifiers were requested; but --no-npm is specified), let Deno download it, or run " +
    '"deno cache npm:@nats-io/nats-core@3.4.0" where the program is built';
  assertEquals([stdout, stderr], [`${message}\n`, ""]);
});

Deno.test('NATS: "Durability `quorum` with 3 replicas", and "ids within the log\'s age"', () => {
  const capabilitiesOf = (url: string) => openDurableStore(toLocation(url)).capabilities;
  assertEquals(capabilitiesOf("nats://a,nats://b,nats://c").durability, "quorum");
  const { durability, ids } = capabilitiesOf("nats://a");
  assertEquals([durability, ids.outlivesMessage], ["disk", false]);
});
