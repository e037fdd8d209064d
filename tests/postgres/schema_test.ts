// "Tables in a schema of their own (…), made at the start where they are missing (two nodes at once
// are fine) and brought up to date by a version row; a role that may not create them gets one error
// that says what to grant; `webfw topics --schema` prints the SQL for migrations. The role of a
// running node needs `USAGE` and `SELECT, INSERT, UPDATE, DELETE` alone."

import { assert, assertEquals, assertRejects } from "@std/assert";
import { App } from "@webfw/core";
import { schemaText } from "../../src/store/sql/schema.ts";
import { takeData } from "../contract/reading.ts";
import { CapturedLog } from "../spec/support/captured_log.ts";
import { hasPostgres, POSTGRES_MISSING, PostgresServer } from "./postgres_server.ts";
import { newSchema } from "./postgres_store.ts";

const DURABLE = { durable: true } as const;

if (!hasPostgres) Deno.test.ignore(`The schema in PostgreSQL: ${POSTGRES_MISSING}`, () => {});
else {
  const server = await PostgresServer.start();
  Deno.test.afterAll(() => server[Symbol.asyncDispose]());
  await server.query("CREATE ROLE node LOGIN; CREATE ROLE shop LOGIN; CREATE ROLE stranger LOGIN");
  const test = (title: string, fn: (schema: string) => Promise<void>) =>
    Deno.test(`The schema in PostgreSQL: ${title}`, () => fn(newSchema()));

  const failure = async (role: string, schema: string): Promise<string> => {
    const app = new App({ topics: { url: server.urlFor(role), schema } });
    app.topic("news", DURABLE);
    const { message } = await assertRejects(() => app.start(), Error);
    await app.stop();
    return message;
  };
  const cannot = `Cannot open the store of topics "127.0.0.1:${server.port}/postgres": `;

  test("nodes that start at once make it, and publish", async (schema) => {
    using _log = new CapturedLog();
    const apps = Array.from({ length: 8 }, () => new App({ topics: { url: server.url, schema } }));
    const topics = apps.map((app) => app.topic<number>("news", DURABLE));
    await Promise.all(apps.map((app) => app.start()));
    const subscription = topics[0]!.subscribe({ from: "earliest" });
    await Promise.all(topics.map((topic, index) => topic.publish(index)));
    assertEquals((await takeData(subscription, 8)).toSorted(), [0, 1, 2, 3, 4, 5, 6, 7]);
    assertEquals(await server.query(`SELECT count(*) FROM ${schema}.version`), ["1"]);
    await Promise.all(apps.map((app) => app.stop()));
  });

  test("a role that may not create it gets one error that says what to grant", async (schema) => {
    using log = new CapturedLog();
    const cure = `${cannot}its role may not make or use the tables, grant it USAGE on the schema ${schema} and ` +
      `SELECT, INSERT, UPDATE, DELETE on its tables after "webfw topics --schema" was carried out by an owner, ` +
      "or CREATE on the database";
    assertEquals(await failure("stranger", schema), cure);
    await server.query(schemaText("postgres", schema));
    assertEquals(await failure("stranger", schema), cure);
    await server.query(`GRANT USAGE ON SCHEMA ${schema} TO stranger`);
    assertEquals(await failure("stranger", schema), cure);
    // Without one of the rights, receipts or webhooks would never come.
    const rights = ["SELECT", "INSERT", "UPDATE", "DELETE"];
    const all = rights.join(", ");
    for (const table of ["logs", "messages", "outbox", "records"]) {
      for (const right of rights) {
        await server.query(`GRANT ${all} ON ALL TABLES IN SCHEMA ${schema} TO stranger;
          REVOKE ${right} ON ${schema}.${table} FROM stranger`);
        assertEquals(await failure("stranger", schema), cure);
      }
    }
    assertEquals(log.text, "");
  });

  test("a running node needs USAGE and SELECT, INSERT, UPDATE, DELETE alone", async (schema) => {
    await server.query(`${schemaText("postgres", schema)}
      GRANT USAGE ON SCHEMA ${schema} TO node;
      GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO node`);
    const apps = [0, 1].map(() => new App({ topics: { url: server.urlFor("node"), schema } }));
    const topics = apps.map((app) => app.topic<number>("news", { ...DURABLE, retention: { count: 2 } }));
    const handled = Promise.withResolvers<number>();
    topics[0]!.consume("mail", { from: "earliest" }, ({ data }) => handled.resolve(data));
    await Promise.all(apps.map((app) => app.start()));
    const subscription = topics[1]!.subscribe({ from: "earliest" });
    for (let n = 0; n < 4; n++) await topics[0]!.publish(n, { id: `${n}` });
    assertEquals(await takeData(subscription, 4), [0, 1, 2, 3]);
    await handled.promise;
    await apps[0]!.records.set(["a"], 1);
    await apps[1]!.records.delete(["a"]);
    await Promise.all(apps.map((app) => app.stop()));
  });

  Deno.test("The schema in PostgreSQL: it may have a word of SQL as its name", async () => {
    for (const schema of ["user", "order"]) {
      const app = new App({ topics: { url: server.url, schema } });
      const news = app.topic<number>("news", DURABLE);
      await app.start();
      const subscription = news.subscribe();
      await news.publish(1);
      assertEquals(await takeData(subscription, 1), [1]);
      await app.stop();
      await server.query(`DROP SCHEMA "${schema}" CASCADE; ${schemaText("postgres", schema)}`);
    }
  });

  test("tables of a newer version are refused, and the node is named as the older one", async (schema) => {
    await server.query(`${schemaText("postgres", schema)} UPDATE ${schema}.version SET version = 1000`);
    const message = await failure("postgres", schema);
    assert(message.startsWith(`${cannot}its tables have version 1000, and this node knows version `), message);
  });
}
