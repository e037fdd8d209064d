// The server of these tests itself: what is written survives its kill, and a restored backup has
// what was there before.

import { assertEquals } from "@std/assert";
import { hasPostgres, POSTGRES_MISSING, PostgresServer } from "./postgres_server.ts";

if (!hasPostgres) Deno.test.ignore(`PostgreSQL of tests: ${POSTGRES_MISSING}`, () => {});
else {
  Deno.test("PostgreSQL of tests: it is killed, frozen, stopped and restored", async () => {
    await using server = await PostgresServer.start();
    await server.query("CREATE TABLE numbers (n int); INSERT INTO numbers VALUES (1)");
    await server.kill();
    await server.startAgain();
    assertEquals(await server.query("SELECT n FROM numbers"), ["1"]);
    await server.stop();
    const restore = await server.backUp();
    await server.startAgain();
    await server.query("INSERT INTO numbers VALUES (2)");
    server.freeze();
    const answer = server.query("SELECT n FROM numbers ORDER BY n");
    server.thaw();
    assertEquals(await answer, ["1", "2"]);
    await server.stop();
    await restore();
    await server.startAgain();
    assertEquals(await server.query("SELECT n FROM numbers"), ["1"]);
  });
}
