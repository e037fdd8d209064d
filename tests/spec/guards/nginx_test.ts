// Guards, section 3: `trustProxy` behind nginx, with the configuration of docs/deployment.md.

import { assert, assertEquals } from "@std/assert";
import { App, html, SSE } from "@webfw/core";
import { freePorts } from "../../support/free_ports.ts";
import { exchange, headerOf, RawConnection } from "../support/raw_connection.ts";
import { RawSocket } from "../support/raw_socket.ts";
import { Serving } from "../support/serving.ts";
import { TemporaryFolder } from "../support/temporary_folder.ts";

/** The configuration of the guide without TLS, at another port and for another target. */
async function guide(port: number, target: string): Promise<string> {
  const text = await Deno.readTextFile(new URL("../../../docs/deployment.md", import.meta.url));
  const [, config = ""] = /```nginx\n(.*?)```/s.exec(text) ?? [];
  const changed = config.replace("listen 443 ssl http2;", `listen 127.0.0.1:${port};`)
    .replace("server 127.0.0.1:8000;", `server ${target};`)
    .replaceAll(/ssl_certificate.*;/g, "");
  assert(changed.includes(`listen 127.0.0.1:${port};`) && changed.includes(`server ${target};`));
  return changed;
}

/** A running nginx. Disposing of it stops it. */
class Nginx implements AsyncDisposable {
  private constructor(readonly port: number, readonly folder: TemporaryFolder) {}

  /** Starts nginx before a target; undefined if it is not installed. */
  static async start(target: string): Promise<Nginx | undefined> {
    const folder = await TemporaryFolder.make();
    const [port = 0] = freePorts(1);
    const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((name) => `${name}_temp_path ${name};`);
    // Workers of another user could not open the Unix socket. Without root, nginx ignores the user.
    const config = await folder.write(
      "nginx.conf",
      `user root; pid nginx.pid; error_log error.log; worker_processes 1; events {}
      http { access_log off; ${paths.join(" ")} ${await guide(port, target)} }`,
    );
    try {
      // It returns when its sockets are open, and runs on in the background.
      await run(["-p", folder.path, "-c", config]);
      return new Nginx(port, folder);
    } catch (error) {
      await folder[Symbol.asyncDispose]();
      if (error instanceof Deno.errors.NotFound && Deno.env.get("WEBFW_REQUIRE_ALL") !== "1") return undefined;
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await run(["-p", this.folder.path, "-c", this.folder.within("nginx.conf"), "-s", "stop"]);
    await this.folder[Symbol.asyncDispose]();
  }
}

async function run(args: string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command("nginx", { args, stderr: "piped" }).output();
  if (!success) throw new Error(`nginx has failed: ${new TextDecoder().decode(stderr)}`);
}

function service(): App {
  const app = new App({ trustProxy: 1, hosts: ["shop.example"], origins: ["https://partner.example"] });
  app.get("/who", async (request) => [request.remoteAddress, request.url.href, request.basePath]);
  app.post("/who", async () => html("taken"));
  app.websocket("/chat", async (socket) => await socket.send(socket.request.remoteAddress!));
  return app;
}

for (const place of ["a port", "a Unix socket"]) {
  Deno.test(`Behind nginx at ${place}: address, scheme, host, pages and WebSockets`, async () => {
    await using folder = await TemporaryFolder.make();
    const path = folder.within("app.sock");
    await using serving = await Serving.start(service(), place === "a port" ? {} : { path });
    const target = place === "a port" ? new URL(serving.origin).host : `unix:${path}`;
    await using nginx = await Nginx.start(target);
    if (!nginx) return console.warn('Left out for want of nginx: put "nginx" on the PATH');
    const send = (method: string, headers: string, host = "shop.example") =>
      exchange(nginx.port, `${method} /who HTTP/1.1\r\nHost: ${host}\r\n${headers}Connection: close\r\n\r\n`);

    const forged = "X-Forwarded-For: 9.9.9.9\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: attacker.example\r\n" +
      "X-Forwarded-Prefix: /attacker\r\n";
    for (const headers of ["", forged, `${forged}Forwarded: for=9.9.9.9\r\n`]) {
      const { status, body } = await send("GET", headers);
      assertEquals([status, JSON.parse(body)], [200, ["127.0.0.1", "http://shop.example/who", ""]]);
    }
    assertEquals((await send("GET", "", "attacker.example")).status, 421);
    assertEquals((await send("POST", "Origin: http://shop.example\r\nContent-Length: 0\r\n")).body, "taken");
    assertEquals((await send("POST", "Origin: http://attacker.example\r\nContent-Length: 0\r\n")).status, 403);
    const partner = await send("GET", "Origin: https://partner.example\r\n");
    assertEquals(headerOf(partner, "access-control-allow-origin"), "https://partner.example");

    using chat = await RawSocket.open(nginx.port, "/chat", { host: "shop.example", origin: "http://shop.example" });
    assertEquals(new TextDecoder().decode((await chat.frame())!.payload), "127.0.0.1");
    using refused = await RawSocket.open(nginx.port, "/chat", { host: "shop.example", origin: "http://other.example" });
    assert(refused.head.startsWith("HTTP/1.1 403"));
  });
}

Deno.test("Events and lines of JSON pass nginx one by one", async () => {
  let next = Promise.withResolvers<void>();
  const values = async function* () {
    yield { n: 1 };
    await next.promise;
    yield { n: 2 };
  };
  const app = new App({ hosts: ["shop.example"] });
  app.get("/events", async () => SSE(values()));
  app.get("/lines", values);
  await using serving = await Serving.start(app);
  await using nginx = await Nginx.start(new URL(serving.origin).host);
  if (!nginx) return console.warn('Left out for want of nginx: put "nginx" on the PATH');
  for (const path of ["/events", "/lines"]) {
    using connection = await RawConnection.open(nginx.port);
    await connection.write(`GET ${path} HTTP/1.1\r\nHost: shop.example\r\n\r\n`);
    await connection.until('{"n":1}');
    next.resolve();
    await connection.until('{"n":2}');
    next = Promise.withResolvers();
  }
});
