import { assertEquals, assertThrows } from "@std/assert";
import { CommandError } from "../../src/cli/command.ts";
import { parseTarget } from "../../src/cli/project.ts";

const onUnix = Deno.build.os !== "windows";

Deno.test("The last colon separates the attribute, where an identifier follows it", () => {
  const cases: [text: string, module: string, attribute: string | null][] = [
    ["main.ts:app", "main.ts", "app"],
    ["main.ts", "main.ts", null],
    ["./src/main.ts:default", "./src/main.ts", "default"],
    ["main.ts:$app_2", "main.ts", "$app_2"],
    ["main.ts:приложение", "main.ts", "приложение"],
    ["a:b.ts:app", "a:b.ts", "app"],
    ["a:b.ts", "a:b.ts", null],
    ["main.ts:2app", "main.ts:2app", null],
    ["https://example.com/main.ts", "https://example.com/main.ts", null],
    ["https://example.com/main.ts:app", "https://example.com/main.ts", "app"],
    [
      "https://example.com:8443/main.ts",
      "https://example.com:8443/main.ts",
      null,
    ],
    [
      "https://example.com:8443/main.ts:app",
      "https://example.com:8443/main.ts",
      "app",
    ],
    ["http://[::1]:80/main.ts:app", "http://[::1]:80/main.ts", "app"],
    ["file:///site/main.ts:app", "file:///site/main.ts", "app"],
    ["jsr:@scope/site", "jsr:@scope/site", null],
    ["jsr:@scope/site@^1.2.0/main:app", "jsr:@scope/site@^1.2.0/main", "app"],
    ["npm:site", "npm:site", null],
    ["npm:site:app", "npm:site", "app"],
    ["npm:site@1.0.0", "npm:site@1.0.0", null],
  ];
  for (const [text, module, attribute] of cases) {
    const target = parseTarget(text, "/home");
    assertEquals([target.module, target.attribute], [module, attribute], text);
  }
});

Deno.test({
  name: "A path is resolved against the working directory, whatever characters it has",
  ignore: !onUnix,
  fn() {
    const cases: [text: string, specifier: string][] = [
      ["main.ts", "file:///home/ann/main.ts"],
      ["../main.ts:app", "file:///home/main.ts"],
      ["/srv/main.ts", "file:///srv/main.ts"],
      ["a b#c?d%41.ts:app", "file:///home/ann/a%20b%23c%3Fd%2541.ts"],
      ["file:///srv/main.ts:app", "file:///srv/main.ts"],
      ["https://example.com/main.ts:app", "https://example.com/main.ts"],
      ["npm:site:app", "npm:site"],
    ];
    for (const [text, specifier] of cases) {
      assertEquals(parseTarget(text, "/home/ann").specifier, specifier, text);
    }
  },
});

Deno.test({
  name: "A drive letter is no module",
  ignore: onUnix,
  fn() {
    assertEquals(parseTarget("C:\\site\\main.ts", "C:\\").attribute, null);
    assertEquals(parseTarget("C:\\site\\main.ts:app", "C:\\").attribute, "app");
    assertEquals(parseTarget("C:app", "C:\\").module, "C:app");
  },
});

Deno.test("A text that names no module is refused", () => {
  for (const text of ["", ":app", "main.ts:", "npm:", "jsr:", "https:", "https://", "https://a b/", "file:///%zz.ts"]) {
    const error = assertThrows(() => parseTarget(text, "/home"), CommandError, "expected <module>:<attribute>");
    assertEquals((error as CommandError).exitCode, 2, text);
  }
});
