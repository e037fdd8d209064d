// "HEAD on a GET path: as GET, no body", over HTTP/2, where Deno sends bodies all the same.

import { App, SSE } from "@webfw/core";
import { assertEquals } from "@std/assert";
import { makeCertificate } from "../support/certificate.ts";
import { Serving } from "./support/serving.ts";
import { TemporaryFolder } from "./support/temporary_folder.ts";

const certificate = await makeCertificate();

Deno.test({
  name: "HEAD has no body over HTTP/2, whatever makes the reply",
  ignore: certificate === undefined,
  async fn() {
    await using folder = await TemporaryFolder.make();
    await folder.write("a.txt", "text");
    const app = new App({ readyUrl: "/ready" });
    app.get("/json", async () => ({ a: 1 }));
    app.get("/response", async () => new Response("text"));
    app.get("/events", async () => {
      return SSE(async function* () {
        for (;;) yield await Promise.resolve(1);
      }());
    });
    app.files("/", folder.path);
    await using serving = await Serving.start(app, { ...certificate! });
    using client = Deno.createHttpClient({ caCerts: [certificate!.cert], http1: false });
    const head = (path: string) => fetch(`https://localhost:${serving.port}${path}`, { client, method: "HEAD" });
    const statuses = { "/json": 200, "/response": 200, "/events": 200, "/a.txt": 200, "/ready": 200, "/none": 404 };
    for (const [path, status] of Object.entries(statuses)) {
      const reply = await head(path);
      assertEquals([reply.status, await reply.text()], [status, ""], path);
    }
    assertEquals((await head("/a.txt")).headers.get("content-length"), "4");
    assertEquals((await head("/ready")).headers.get("content-length"), "5");
  },
});
