/** The mails of the shop whose nodes share a store. */
import { assertEquals } from "@std/assert";
import { ChildProgram } from "../spec/support/child_program.ts";
import { TemporaryFolder } from "../spec/support/temporary_folder.ts";

const SERVE = new URL("../../examples/orders/serve.ts", import.meta.url).href;

Deno.test("a node is killed while it has the message of an order: the other node writes the mail", async () => {
  await using folder = await TemporaryFolder.make();
  const env = {
    ORDERS_NODES: "one=http://127.0.0.1:0,two=http://127.0.0.1:0",
    ORDERS_MAILS: folder.within("mails"),
    ORDERS_LEASE_MS: "1000",
    WEBFW_TOPICS: folder.within("topics.sqlite"),
  };
  const start = (node: string, mailMs: number) =>
    ChildProgram.start(`import ${JSON.stringify(SERVE)};`, {
      command: ["run", "--unstable-kv"],
      env: { ...env, ORDERS_NODE: node, ORDERS_MAIL_MS: `${mailMs}` },
    });
  const id = crypto.randomUUID();

  await using one = await start("one", 3_600_000);
  const response = await fetch(`http://127.0.0.1:${await one.port()}/orders`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ id, item: "Tea", quantity: 2 }),
  });
  assertEquals(response.status, 201);
  await response.body?.cancel();
  await one.printed(`Node one begins the mail of order ${id}`);

  await using two = await start("two", 0);
  await two.port();
  one.signal("SIGKILL");
  await two.printed(`Node two has written the mail of order ${id}`);

  assertEquals((await Array.fromAsync(Deno.readDir(env.ORDERS_MAILS))).map(({ name }) => name), [`${id}.txt`]);
  const mail = await Deno.readTextFile(`${env.ORDERS_MAILS}/${id}.txt`);
  assertEquals(mail, "Your order, 2 of Tea, was sent.\n");
  assertEquals((await one.end()).stdout.includes("has written"), false);
});
