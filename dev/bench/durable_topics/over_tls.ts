// Publishing to the same denokv over TLS and over plain HTTP, in turns. Both pass a proxy in this
// process, so only TLS differs.

import { join } from "node:path";
import type { Denokv } from "../../../tests/denokv/denokv.ts";
import { makeCertificate } from "../../../tests/support/certificate.ts";
import { Relay } from "../../../tests/support/relay.ts";
import { note } from "../figure.ts";
import { median, ratios } from "../http/statistics.ts";
import { ownProgram } from "../own_program.ts";
import type { TlsTimes } from "./tls_publisher.ts";

/** Compares HTTP and TLS, and prints the result. */
export async function measureOverTls(
  server: Denokv,
  rounds: number,
  messages: number,
  signal: AbortSignal,
): Promise<void> {
  const certificate = await makeCertificate();
  if (!certificate) return console.log("over TLS: this system has no openssl to make a certificate");
  using plain = new Relay(server.port);
  using secure = new Relay(server.port, { certificate });
  const folder = await Deno.makeTempDir({ prefix: "webfw_bench_" });
  try {
    const file = join(folder, "certificate.pem");
    await Deno.writeTextFile(file, certificate.cert);
    const plan = {
      http: `http://127.0.0.1:${plain.port}`,
      https: `https://127.0.0.1:${secure.port}`,
      rounds,
      messages,
    };
    const [program = "", ...args] = ownProgram(join(import.meta.dirname!, "tls_publisher.ts"));
    const { success, stdout } = await new Deno.Command(program, {
      args: [...args, JSON.stringify(plan)],
      // Deno reads the certificates that it trusts only at its start.
      env: { DENO_CERT: file, DENO_KV_ACCESS_TOKEN: server.token },
      stdin: "null",
      stderr: "inherit",
      signal,
    }).output();
    if (!success) throw new Error("Cannot measure over TLS: the process that publishes failed");
    for (const times of JSON.parse(new TextDecoder().decode(stdout)) as TlsTimes[]) tell(times, rounds);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function tell({ bytes, http, https }: TlsTimes, rounds: number): void {
  const ratio = ratios(https, http);
  const name = `one publisher over TLS, ${bytes.toLocaleString("en")} bytes`;
  note({
    measure: "time of a publish",
    contestant: name,
    reference: "the same over http://",
    value: median(https),
    unit: "ms",
    ratio,
    rounds,
  });
  const [secure, plain] = [median(https).toFixed(2), median(http).toFixed(2)];
  console.log(`${name.padEnd(46)}${secure.padStart(9)} ms  ${ratio.median.toFixed(2)} of ${plain} ms over http://`);
}
