// "Copy as curl" of the board writes a command with what clients have sent: each value must be one
// argument of curl, and nothing may act on the terminal into which it is pasted.

import { assertEquals, assertThrows } from "@std/assert";
import { type CurlRequest, toCurl } from "../../dev/board/curl.ts";

/** Runs the command in bash, and returns the arguments that curl gets. */
async function argumentsOf(command: string): Promise<string[]> {
  const script = `curl() { printf '%s\\0' "$@"; }\n${command}\n`;
  const { code, stdout, stderr } = await new Deno.Command("bash", { args: ["-c", script] }).output();
  assertEquals([code, new TextDecoder().decode(stderr)], [0, ""], command);
  return new TextDecoder().decode(stdout).split("\0").slice(0, -1);
}

const HOSTILE = [
  "plain",
  "",
  "it's; echo owned",
  "' ; echo owned ; '",
  "'\\'' ; echo owned",
  "$(echo owned) `echo owned` $HOME ${IFS} !! !1 ~",
  "a\\nb\\x41\\",
  "back\\' ; echo owned",
  "one\ntwo\r\nthree\ttab",
  "\u001b[201~\necho owned\n",
  "\u001b]0;owned\u0007 it's \u009b31m \u007f!",
  "\u202ereversed\u2066 é 漢 🫖",
  "@/etc/passwd",
  "--output /tmp/owned",
];

Deno.test("copy as curl gives curl each value as one argument", async () => {
  for (const text of HOSTILE) {
    const request: CurlRequest = {
      method: "POST",
      url: `/items?q=${text}&n={a,b}[1-9]`,
      headers: [["host", text], ["x-note", text], ["content-length", "3"]],
      body: text,
    };
    assertEquals(await argumentsOf(toCurl(request, "http://127.0.0.1:8000")), [
      ...["--globoff", "--path-as-is", `http://127.0.0.1:8000/items?q=${text}&n={a,b}[1-9]`],
      ...["-X", "POST", "-H", text === "" ? "x-note;" : `x-note: ${text}`, "--data-raw", text],
    ]);
  }
});

Deno.test("copy as curl quotes methods, which may have any characters of a token", async () => {
  const request = { url: "/", headers: [], body: null };
  for (const method of ["PURGE", "A|echo`id`", "A&B", "A'B", "$A"]) {
    const [, , , ...rest] = await argumentsOf(toCurl({ ...request, method }, "http://127.0.0.1"));
    assertEquals(rest, ["-X", method]);
  }
  assertEquals((await argumentsOf(toCurl({ ...request, method: "HEAD" }, "http://127.0.0.1"))).at(-1), "--head");
});

Deno.test("copy as curl writes only printable characters", () => {
  for (const text of HOSTILE) {
    const command = toCurl({ method: "POST", url: "/", headers: [["x-note", text]], body: text }, "http://127.0.0.1");
    // deno-lint-ignore no-control-regex
    assertEquals(command.replaceAll(" \\\n  ", "").match(/[\0-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]/), null, text);
  }
  const request = { method: "POST", url: "/", headers: [], body: "a\0b" };
  assertThrows(() => toCurl(request, "http://127.0.0.1"), Error, "NUL");
});
