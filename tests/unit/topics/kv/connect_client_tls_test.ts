// How the client speaks to a database behind TLS. It trusts what its process trusts, so each client is one of its own.

import { assertEquals } from "@std/assert";
import { Proxy } from "../../../../faults/proxy.ts";
import { encodeMessage } from "../../../../src/topics/kv/protobuf.ts";
import { ChildProgram } from "../../../spec/support/child_program.ts";
import { makeCertificate } from "../../../support/certificate.ts";

const CLIENT = new URL("../../../../src/topics/kv/connect_client.ts", import.meta.url).href;
const ENTRY = { key: ["a"], value: "new Uint8Array(8 * 1024)" };
const WRITES = 10;

const PROGRAM = `
  import { ConnectClient } from "${CLIENT}";
  const client = await ConnectClient.open(new URL(Deno.env.get("DATABASE")), "token");
  const write = { sets: [{ key: ${JSON.stringify(ENTRY.key)}, value: ${ENTRY.value} }] };
  for (let count = 0; count < ${WRITES}; count++) await client.write(write);
  console.log("written");
  client.close();
`;

const certificate = await makeCertificate();

Deno.test({
  name: "A client of a database behind TLS speaks HTTP/1.1, over one connection for what it asks one after another",
  // A test that needs what a machine may lack stands back, but not where all is required.
  ignore: certificate === undefined && Deno.env.get("WEBFW_REQUIRE_ALL") !== "1",
  fn: async () => {
    let writes = 0;
    await using server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, async (request) => {
      if (new URL(request.url).pathname === "/db") {
        return Response.json({
          version: 3,
          databaseId: "00000000-0000-4000-8000-000000000000",
          endpoints: [{ url: "/near", consistency: "strong" }],
          token: "access",
          expiresAt: new Date(Date.now() + 3_600_000).toISOString(),
        });
      }
      await request.bytes();
      writes++;
      return new Response(encodeMessage([[1, 1], [2, new Uint8Array(10)]]));
    });
    using front = new Proxy(server.addr.port, certificate!);
    const trusted = await Deno.makeTempFile({ prefix: "webfw_tls_", suffix: ".pem" });
    try {
      await Deno.writeTextFile(trusted, certificate!.cert);
      const env = { DENO_CERT: trusted, DATABASE: `https://127.0.0.1:${front.port}/db` };
      await using program = await ChildProgram.start(PROGRAM, { env });
      const { code, stdout, stderr } = await program.end();
      assertEquals([code, stdout, stderr], [0, "written\n", ""]);
    } finally {
      await Deno.remove(trusted);
    }
    assertEquals([front.protocols, writes], [["http/1.1"], WRITES]);
  },
});
