// "A 1 GiB upload to disk passes with resident memory flat, and one above the limit is refused with
// 413 before it has been read": the short form of `deno task bench uploads`.

import { assertEquals } from "@std/assert";
import { fileURLToPath } from "node:url";

Deno.test("Uploads take no more memory than reading, and refusals come in time", async () => {
  const config = Deno.env.get("WEBFW_CONFIG");
  const main = fileURLToPath(new URL("../../dev/bench/main.ts", import.meta.url));
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "-A",
      "--quiet",
      "--no-lock",
      ...(config ? [`--config=${config}`] : []),
      main,
      "uploads",
      "--size",
      "128",
      "--growth",
      "110",
    ],
  }).output();
  const text = new TextDecoder();
  assertEquals(code, 0, text.decode(stdout) + text.decode(stderr));
});
